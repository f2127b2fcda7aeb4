"""Minds that change: verbs that come while others are under way, twice, too late, or by a name."""

from dataclasses import replace

import pytest

from ostler.domain.catalogue import BillingMode
from ostler.domain.conflicts import ConflictCode
from ostler.domain.errors import Missing, NameAmbiguous, RequestInvalid, VerbRefused
from ostler.domain.events import PublicEvent
from ostler.domain.failures import FailureCode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind, Outcome
from ostler.domain.phases import StopReason, Wanted
from ostler.domain.spec import OnFailure, OnReclaim
from ostler.domain.start_requests import StartRequest
from ostler.simulator.doors import Doors
from ostler.simulator.lifecycle import move
from ostler.simulator.spot import force_notice
from ostler.simulator.status import Status
from ostler.store.operations import operations_of
from ostler.usecases.asking import Asker, ById, ByName
from ostler.usecases.waiting import WaitFor, verdict_of
from tests.support.core import SOMEBODY, Installation, Ostler, a_wish, an_installation
from tests.support.simulator import no_capacity, server_error, timeout_after_effect

pytestmark = pytest.mark.looptime

_START = "POST */gpu/instance/start"


async def _running(ostler: Ostler, name: str = "demo") -> ById:
    accepted = await ostler.accept(a_wish(name))
    await ostler.until(accepted.instance_id, State.RUNNING)
    return ById(accepted.instance_id)


async def _exited(ostler: Ostler) -> ById:
    target = await _running(ostler)
    await ostler.verbs.stop(target, SOMEBODY)
    await ostler.until(target.instance_id, State.EXITED)
    return target


async def _kinds(ostler: Ostler, target: ById) -> list[tuple[OperationKind, Outcome | None]]:
    rows = await ostler.database.read(lambda connection: operations_of(connection, target.instance_id))
    return [(row.operation.kind, row.operation.outcome) for row in reversed(rows)]


async def _start(ostler: Ostler, target: ById) -> None:
    await ostler.verbs.start(target, SOMEBODY, StartRequest(is_check_refused=True), HealthPolicy())


async def test_a_delete_right_after_the_create_supersedes_it_and_leaves_nothing() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        accepted = await ostler.accept(a_wish())
        target = ById(accepted.instance_id)
        await ostler.verbs.delete(target, SOMEBODY)
        await ostler.until(accepted.instance_id, State.TERMINATED)
        assert home.alive() == []
        assert await _kinds(ostler, target) == [
            (OperationKind.CREATE, Outcome.SUPERSEDED),
            (OperationKind.DELETE, Outcome.SUCCEEDED),
        ]


async def test_a_delete_during_an_ambiguous_create_finds_and_removes_what_the_cloud_made() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(timeout_after_effect())
        accepted = await ostler.accept(a_wish())
        await ostler.clock.sleep(5)
        await ostler.verbs.delete(ById(accepted.instance_id), SOMEBODY)
        await ostler.until(accepted.instance_id, State.TERMINATED)
        assert len(home.ever_billed()) == 1
        assert home.alive() == []


async def test_a_stop_during_a_start_wins() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _exited(ostler)
        await _start(ostler, target)
        await ostler.clock.sleep(2)
        answer = await ostler.verbs.stop(target, SOMEBODY)
        assert answer.instance.state is State.STOPPING
        await ostler.until(target.instance_id, State.EXITED)
        assert (await _kinds(ostler, target))[-2:] == [
            (OperationKind.START, Outcome.SUPERSEDED),
            (OperationKind.STOP, Outcome.SUCCEEDED),
        ]


async def test_a_start_during_a_stop_is_a_conflict_that_names_the_operation() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _running(ostler)
        stop = await ostler.verbs.stop(target, SOMEBODY)
        with pytest.raises(VerbRefused) as refused:
            await _start(ostler, target)
        assert refused.value.conflict is ConflictCode.IN_PROGRESS
        assert stop.operation is not None
        assert refused.value.details["operationId"] == stop.operation.id


async def test_the_same_verb_again_is_the_same_operation() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _running(ostler)
        first = await ostler.verbs.stop(target, SOMEBODY)
        again = await ostler.verbs.stop(target, SOMEBODY)
        await ostler.until(target.instance_id, State.EXITED)
        late = await ostler.verbs.stop(target, SOMEBODY)
        assert first.operation is not None
        assert [first.is_new, again.is_new, late.is_new] == [True, False, False]
        assert {each.operation and each.operation.id for each in (first, again, late)} == {first.operation.id}


async def test_deleting_twice_is_deleting_once() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _running(ostler)
        await ostler.verbs.delete(target, SOMEBODY)
        await ostler.verbs.delete(target, SOMEBODY)
        await ostler.until(target.instance_id, State.TERMINATED)
        answer = await ostler.verbs.delete(target, SOMEBODY)
        assert not answer.is_new
        assert (await _kinds(ostler, target)).count((OperationKind.DELETE, Outcome.SUCCEEDED)) == 1


async def test_a_stop_right_after_a_start_is_not_mistaken_for_the_stop_before_it() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _exited(ostler)
        await _start(ostler, target)
        await ostler.clock.sleep(1)
        await ostler.verbs.stop(target, SOMEBODY)
        await ostler.until(target.instance_id, State.EXITED, within_s=25)


async def test_a_delete_of_what_the_cloud_has_already_lost_ends() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _running(ostler)
        await ostler.clock.sleep(60)
        [upstream_id] = home.alive()
        move(home.simulated.world, home.simulated.world.instances[upstream_id], Status.REMOVED)
        await ostler.verbs.delete(target, SOMEBODY)
        await ostler.until(target.instance_id, State.TERMINATED)


async def test_a_start_without_capacity_is_retried_and_then_the_instance_is_stopped_again() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _exited(ostler)
        home.simulated.next_call(_START, no_capacity(), times=3)
        await _start(ostler, target)
        await ostler.until(target.instance_id, State.RUNNING)
        await ostler.verbs.stop(target, SOMEBODY)
        await ostler.until(target.instance_id, State.EXITED)
        home.simulated.next_call(_START, no_capacity(), times=1000)
        await _start(ostler, target)
        exited = await ostler.until(target.instance_id, State.EXITED, within_s=900)
        assert exited.error is not None
        assert exited.error.code is FailureCode.RESOURCE_CONSTRAINTS
        assert "migrate" in exited.error.hint
        assert exited.start_began_at is not None
        assert exited.error.at - exited.start_began_at >= 0.99 * exited.spec.startup_timeout
        assert (await _kinds(ostler, target))[-1] == (OperationKind.START, Outcome.FAILED)


async def test_a_failed_create_is_deleted_unless_its_owner_wants_it_kept() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        ostler.prober.is_healthy = False
        health = HealthPolicy()
        gone = await ostler.accept(replace(a_wish("gone"), health=health))
        kept = await ostler.accept(replace(a_wish("kept"), health=health, on_failure=OnFailure.KEEP))
        await ostler.until(gone.instance_id, State.TERMINATED, within_s=900)
        failed = await ostler.until(kept.instance_id, State.FAILED)
        assert failed.error is not None
        assert failed.error.code is FailureCode.HEALTH_CHECK_TIMEOUT
        assert failed.error.still_billed
        assert (home.alive("gone"), len(home.alive("kept"))) == ([], 1)
        deleted = (await ostler.instance(gone.instance_id)).error
        assert deleted is not None
        assert not deleted.still_billed
        row = await ostler.row(kept.instance_id)
        assert verdict_of(row, row, WaitFor.READY) is None
        ostler.prober.is_healthy = True
        await ostler.until(kept.instance_id, State.READY)


async def test_three_failed_probes_take_the_readiness_and_it_comes_back_by_itself() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        accepted = await ostler.accept(replace(a_wish(), health=HealthPolicy()))
        ready = await ostler.until(accepted.instance_id, State.READY)
        ostler.prober.is_healthy = False
        await ostler.until(accepted.instance_id, State.HEALTH_CHECKING)
        ostler.prober.is_healthy = True
        again = await ostler.until(accepted.instance_id, State.READY)
        assert again.ready_at == ready.ready_at
        assert len(home.alive()) == 1


async def test_ports_that_answer_nowhere_are_looked_for_at_their_new_addresses() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        ostler.prober.only_at = "127.0.0.2"
        accepted = await ostler.accept(replace(a_wish(), health=HealthPolicy()))
        await ostler.until(accepted.instance_id, State.HEALTH_CHECKING)
        moved = "127.0.0.2:1"
        home.simulated.cloud.open_doors(Doors(moved, moved, moved, moved))
        await ostler.until(accepted.instance_id, State.READY, within_s=120)


async def test_a_delete_that_does_not_get_through_raises_an_alarm_and_goes_on() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _running(ostler)
        home.simulated.next_call("POST */gpu/instance/delete", server_error(500), times=60)
        await ostler.verbs.delete(target, SOMEBODY)
        await ostler.until(target.instance_id, State.TERMINATED, within_s=9000)
        alarms = [event for event in await ostler.events(target.instance_id) if event.is_alarm]
        assert alarms[0].name is PublicEvent.DELETE_STUCK
        assert 300 <= (alarms[0].at - alarms[0].at.replace(minute=0, second=0)).total_seconds() < 900
        assert home.alive() == []


@pytest.mark.parametrize("on_reclaim", [OnReclaim.MIGRATE, OnReclaim.RECREATE])
async def test_what_the_cloud_takes_back_comes_back(on_reclaim: OnReclaim) -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _reclaimed(home, ostler, on_reclaim)
        await ostler.until(instance_id, State.MIGRATING)
        back = await ostler.until(instance_id, State.RUNNING, within_s=90)
        await ostler.clock.sleep(60)
        assert back.stop_reason is None
        assert home.alive() == [back.upstream_id]
        assert len(home.ever_billed()) == (1 if on_reclaim is OnReclaim.MIGRATE else 2)


async def test_a_stop_of_what_was_taken_back_keeps_it_stopped() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _reclaimed(home, ostler, OnReclaim.NONE)
        exited = await ostler.until(instance_id, State.EXITED)
        assert exited.stop_reason is StopReason.SPOT_RECLAIMED
        answer = await ostler.verbs.stop(ById(instance_id), SOMEBODY)
        assert answer.instance.wanted is Wanted.STOPPED
        await ostler.verbs.start(ById(instance_id), SOMEBODY, StartRequest(), HealthPolicy())
        assert (await ostler.instance(instance_id)).state is State.MIGRATING


async def test_a_migration_by_hand_must_accept_the_loss_of_data() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        target = await _running(ostler)
        with pytest.raises(RequestInvalid):
            await ostler.verbs.migrate(target, SOMEBODY, accepts_data_loss=False)
        await ostler.verbs.migrate(target, SOMEBODY, accepts_data_loss=True)
        await ostler.until(target.instance_id, State.MIGRATING)
        await ostler.until(target.instance_id, State.RUNNING)


async def test_a_name_means_the_one_living_instance_that_has_it() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        first, _ = await _running(ostler, "twin"), await _running(ostler, "twin")
        with pytest.raises(NameAmbiguous) as ambiguous:
            await ostler.verbs.stop(ByName("twin"), SOMEBODY)
        assert len(list(str(ambiguous.value.details["instanceIds"]).split(","))) == 2
        await ostler.verbs.delete(first, SOMEBODY)
        await ostler.until(first.instance_id, State.TERMINATED)
        answer = await ostler.verbs.stop(ByName("twin"), SOMEBODY)
        assert answer.instance.id != first.instance_id


async def test_what_lies_in_another_project_does_not_exist() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        accepted = await ostler.accept(replace(a_wish(), project="theirs"))
        for target in (ById(accepted.instance_id), ByName("demo")):
            with pytest.raises(Missing):
                await ostler.verbs.delete(target, Asker("somebody else", project="ours"))


async def _reclaimed(home: Installation, ostler: Ostler, on_reclaim: OnReclaim) -> str:
    spec = replace(a_wish(), billing_mode=BillingMode.SPOT, on_reclaim=on_reclaim)
    accepted = await ostler.accept(spec)
    running = await ostler.until(accepted.instance_id, State.RUNNING)
    assert running.upstream_id is not None
    world = home.simulated.world
    force_notice(world, world.instances[running.upstream_id], 5.0)
    return accepted.instance_id
