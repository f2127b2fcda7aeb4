"""What time does to the simulator's instances: creating, stopping, the spot market, terms, disks, fates,
lags.
"""

import pytest

from ostler.simulator import verbs
from ostler.simulator.accounting import set_balance
from ostler.simulator.creation import create
from ostler.simulator.durations import DAY_S, HOUR_S, Durations
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import NEVER, Instance, Mode
from ostler.simulator.refusal import Refusal
from ostler.simulator.seeding import seed
from ostler.simulator.status import Status
from ostler.simulator.world import World
from tests.support.simulator import EPOCH, a_simulated_instance, an_order, until


def path_of(world: World, instance: Instance, last: Status) -> list[Status]:
    """Let time pass until a status, and return all that were seen."""
    seen = [instance.status]
    while instance.status is not last:
        due = world.next_due()
        assert due is not None
        world.advance(due)
        if instance.status is not seen[-1]:
            seen.append(instance.status)
    return seen


def test_a_new_instance_begins_as_pending_and_runs_within_half_a_minute_with_a_cached_image() -> None:
    world = new_world(EPOCH)
    instance = create(world, an_order())

    seen = path_of(world, instance, Status.RUNNING)

    assert seen == ["pending", "toCreate", "creating", "pulling", "running"]
    assert 10 <= world.now - EPOCH <= 25


def test_an_unknown_image_takes_minutes_the_first_time_and_seconds_the_second() -> None:
    world = new_world(EPOCH)
    rare = an_order()
    first = a_simulated_instance(world, Status.PENDING)
    first.image_url = "rare/image:1"

    until(world, first, Status.RUNNING)
    took_first = world.now - EPOCH
    second = create(world, rare)
    second.image_url = "rare/image:1"
    began = world.now
    until(world, second, Status.RUNNING)

    assert took_first > 60
    assert world.now - began < 30


def test_stop_and_start_pass_through_their_statuses() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)

    verbs.stop(world, instance)
    down = path_of(world, instance, Status.EXITED)
    verbs.start(world, instance)
    up = path_of(world, instance, Status.RUNNING)

    assert down == ["toStop", "stopping", "exited"]
    assert up == ["toStart", "starting", "running"]


def test_the_shell_password_changes_at_each_start() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)
    passwords = [instance.ssh_password]

    for _ in range(2):
        verbs.restart(world, instance)
        until(world, instance, Status.RUNNING)
        passwords.append(instance.ssh_password)

    assert len(set(passwords)) == 3
    assert all(passwords)


def test_a_restart_is_seen_by_a_later_last_start() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)
    before = instance.last_started_at

    world.advance(EPOCH + 100)
    verbs.restart(world, instance)
    until(world, instance, Status.RUNNING)

    assert instance.last_started_at > before + 100


def test_use_time_adds_up_over_runs() -> None:
    world = new_world(EPOCH, durations=Durations(spread=0.0))
    instance = a_simulated_instance(world)
    for _ in range(2):
        world.advance(world.now + 100)
        verbs.stop(world, instance)
        until(world, instance, Status.EXITED)
        verbs.start(world, instance)
        until(world, instance, Status.RUNNING)

    assert instance.use_seconds == 200


def test_a_deleted_instance_is_gone_and_only_the_ledger_remembers() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)

    verbs.delete(world, instance)
    world.advance(EPOCH + 60)

    assert instance.id not in world.instances
    assert instance not in world.fleet("default")
    assert world.ledger[instance.id].removed_at > EPOCH
    assert world.wallet("default").instances_alive == 0
    with pytest.raises(Refusal, match="not found"):
        verbs.find(world, "default", instance.id)


def test_the_disk_of_a_stopped_instance_is_wiped_after_a_week() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, Status.EXITED)
    stopped_at = world.now

    assert instance.release_data_at == stopped_at + 7 * DAY_S
    world.advance(instance.release_data_at - 1)
    assert not instance.is_disk_wiped
    world.advance(instance.release_data_at)

    assert instance.is_disk_wiped
    assert instance.status is Status.EXITED


def test_starting_again_keeps_the_disk() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, Status.EXITED)

    world.advance(EPOCH + 6 * DAY_S)
    verbs.start(world, instance)
    world.advance(EPOCH + 8 * DAY_S)

    assert not instance.is_disk_wiped
    assert instance.release_data_at == NEVER


def test_a_frozen_account_loses_all_that_runs_and_pays_its_way_out() -> None:
    world = new_world(EPOCH)
    running, spotty = a_simulated_instance(world), a_simulated_instance(world, Status.RUNNING, Mode.SPOT)
    set_balance(world, "default", 35_000)  # 40 minutes of both

    world.advance(EPOCH + HOUR_S)
    assert {running.status, spotty.status} == {Status.EXITED}
    with pytest.raises(Refusal) as refusal:
        verbs.start(world, running)
    assert refusal.value.reason == "BALANCE_NOT_ENOUGH"
    set_balance(world, "default", 100_000)
    verbs.start(world, running)
    until(world, running, Status.RUNNING)

    assert not world.wallet("default").is_frozen


@pytest.mark.parametrize(("status", "stopped_at"), [(Status.RUNNING, NEVER), (Status.EXITED, EPOCH - HOUR_S)])
def test_what_is_seeded_has_run_for_a_day_and_was_paid_for(status: Status, stopped_at: float) -> None:
    world = new_world(EPOCH)
    before = world.wallet("default").balance(EPOCH)
    (key,) = seed(world, "default", 1, status=status, name="seeded")
    instance, entry = world.instances[key], world.ledger[key]
    hours = 24 if status is Status.RUNNING else 23

    assert (instance.created_at, instance.last_started_at) == (EPOCH - DAY_S, EPOCH - DAY_S)
    assert instance.last_stopped_at == stopped_at
    assert (entry.created_at, entry.seconds_at(EPOCH)) == (EPOCH - DAY_S, hours * 3_600)
    paid_in = 31 * 24 * 35_000
    assert world.wallet("default").balance(EPOCH) - before == paid_in - entry.cost_at(EPOCH)
    assert entry.cost_at(EPOCH + HOUR_S) == (hours + (status is Status.RUNNING)) * 35_000
    assert instance.release_data_at == (stopped_at + 7 * DAY_S if stopped_at else NEVER)
    assert instance.due_at == (instance.release_data_at or None)
