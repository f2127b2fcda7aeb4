"""What goes wrong inside the simulated cloud when it is asked to, and the jobs that instances wait for."""

from collections import deque

import pytest

from ostler.simulator import verbs
from ostler.simulator.creation import create
from ostler.simulator.durations import DAY_S
from ostler.simulator.fate import Fate, Outcome
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.job import JOBS, JobState, JobType, break_job
from ostler.simulator.lifecycle import lose_host
from ostler.simulator.market import shelf_id
from ostler.simulator.refusal import Refusal
from ostler.simulator.status import CONNECTED, Status
from ostler.simulator.world import World
from tests.support.simulator import EPOCH, a_simulated_instance, an_order, until


class TestFates:
    @staticmethod
    def created_under(fate: Fate) -> tuple[World, Instance]:
        world = new_world(EPOCH)
        world.fates["create"] = deque([fate])
        return world, create(world, an_order())

    def test_a_create_can_fail_with_a_status_error_and_gives_its_gpu_back(self) -> None:
        world, instance = self.created_under(Fate(Status.PULLING, Outcome.FAIL, message="no such image"))

        world.advance(EPOCH + 60)

        assert instance.status is Status.EXITED
        assert instance.error.message == "no such image"
        assert world.shelves[shelf_id("4090.16c62g", "us-ca-6", Mode.ON_DEMAND)].free == 400

    def test_pulling_can_last_as_long_as_a_test_wants(self) -> None:
        world, instance = self.created_under(Fate(Status.PULLING, Outcome.SLOW, seconds=1_000))

        world.advance(EPOCH + 990)
        before = instance.status
        world.advance(EPOCH + 1_030)

        assert (before, instance.status) == (Status.PULLING, Status.RUNNING)

    def test_a_status_can_stick_and_only_a_delete_helps(self) -> None:
        world, instance = self.created_under(Fate(Status.CREATING, Outcome.STUCK))

        world.advance(EPOCH + DAY_S)
        assert instance.status is Status.CREATING
        verbs.delete(world, instance)
        world.advance(EPOCH + DAY_S + 60)

        assert instance.id not in world.instances

    def test_only_the_next_one_is_struck(self) -> None:
        world, _ = self.created_under(Fate(Status.PULLING, Outcome.FAIL))

        second = create(world, an_order())
        world.advance(EPOCH + 60)

        assert second.status is Status.RUNNING

    def test_a_failed_migration_leaves_a_failed_job(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)
        world.fates["migrate"] = deque([Fate(Status.MIGRATING, Outcome.FAIL, message="no node")])

        job = verbs.migrate(world, instance)
        world.advance(EPOCH + 300)

        assert instance.status is Status.EXITED
        assert (job.state, job.error_message, instance.jobs) == (JobState.FAIL, "no node", {})


class TestAHostThatFails:
    def test_the_cloud_moves_an_instance_that_asked_for_it(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)

        lose_host(world, instance)
        job = next(iter(world.rows(JOBS).values()))
        during = (instance.status, job.state)
        until(world, instance, Status.RUNNING)

        assert job.type is JobType.AUTO_MIGRATE
        assert during == (Status.MIGRATING, JobState.RUNNING)
        assert (job.state, instance.jobs) == (JobState.SUCCESS, {})

    def test_another_exits_and_says_why(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)
        verbs.set_auto_migrate(world, instance, on=False, system_disk=False)

        lose_host(world, instance)

        assert (instance.status, instance.error.state) == (Status.EXITED, "HOST_FAILED")


class TestJobs:
    def test_a_migration_is_a_job_that_ends_when_it_runs_again(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)

        job = verbs.migrate(world, instance)
        assert instance.status in CONNECTED
        assert instance.jobs == {job.id: "instanceMigrate"}
        until(world, instance, Status.RUNNING)

        assert (job.state, instance.jobs) == (JobState.SUCCESS, {})

    def test_saving_an_image_takes_its_time_and_frees_the_instance(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)

        job = verbs.save_image(world, instance, "my/image:1")
        seen = [job.state]
        while job.is_open:
            due = world.next_due()
            assert due is not None
            world.advance(due)
            seen.append(job.state)

        assert seen == [JobState.PULLING, JobState.RUNNING, JobState.SUCCESS]
        assert instance.jobs == {}

    def test_a_job_can_be_broken_off_unless_it_is_a_migration(self) -> None:
        world = new_world(EPOCH)
        saving = verbs.save_image(world, a_simulated_instance(world), "my/image:1")
        moving = verbs.migrate(world, a_simulated_instance(world))

        break_job(world, saving)
        with pytest.raises(Refusal) as refusal:
            break_job(world, moving)

        assert saving.state is JobState.BREAK
        assert refusal.value.reason == "MIGRATION_JOB_NOT_BREAKABLE"

    def test_deleting_an_instance_ends_its_jobs(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)
        job = verbs.save_image(world, instance, "my/image:1")

        verbs.delete(world, instance)
        world.advance(EPOCH + 600)

        assert job.state is JobState.FAIL
        assert world.rows(JOBS)[job.id] is job
