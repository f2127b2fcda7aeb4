"""Every status × verb pair of the simulator's instances: what is refused, and where the rest leads."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from ostler.simulator import verbs
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import ExposedPort, Instance, Mode, SpotStatus
from ostler.simulator.job import JobType, open_job
from ostler.simulator.market import shelf_id
from ostler.simulator.order import Rebuild
from ostler.simulator.refusal import Refusal
from ostler.simulator.status import (
    ALLOWED,
    BEING_MADE,
    BLOCKED_BY_JOBS,
    FOLLOWS,
    HOLDS_GPU,
    LEADS_TO,
    Status,
    Verb,
)
from ostler.simulator.world import World
from tests.support.simulator import EPOCH, a_simulated_instance, an_order

Act = Callable[[World, Instance], object]

ACTS: dict[Verb, Act] = {
    Verb.START: verbs.start,
    Verb.STOP: verbs.stop,
    Verb.RESTART: verbs.restart,
    Verb.DELETE: verbs.delete,
    Verb.MIGRATE: verbs.migrate,
    Verb.EDIT: lambda world, instance: verbs.edit(world, instance, (ExposedPort(1234, "http"),), 5),
    Verb.UPGRADE: lambda world, instance: verbs.upgrade(world, instance, Rebuild("other/image:2")),
    Verb.RENEW: lambda world, instance: verbs.renew(world, instance, 1),
    Verb.TO_MONTHLY: lambda world, instance: verbs.to_monthly(world, instance, 1),
    Verb.SET_AUTO_MIGRATE: lambda world, instance: verbs.set_auto_migrate(
        world, instance, on=False, system_disk=False
    ),
    Verb.SET_AUTO_RENEW: lambda world, instance: verbs.set_auto_renew(world, instance, on=True, months=1),
    Verb.SAVE_IMAGE: lambda world, instance: verbs.save_image(world, instance, "my/image:1"),
}
NEEDS_SUBSCRIPTION = {Verb.RENEW, Verb.SET_AUTO_RENEW}
LIVING = [status for status in Status if status is not Status.REMOVED]
PAIRS = [pytest.param(status, verb, id=f"{verb}-{status}") for status in LIVING for verb in Verb]


def prepared(status: Status, verb: Verb) -> tuple[World, Instance]:
    world = new_world(EPOCH)
    mode = Mode.MONTHLY if verb in NEEDS_SUBSCRIPTION else Mode.ON_DEMAND
    return world, a_simulated_instance(world, status, mode)


@pytest.mark.parametrize(("status", "verb"), PAIRS)
def test_a_verb_is_refused_without_a_trace_or_leads_where_the_table_says(status: Status, verb: Verb) -> None:
    world, instance = prepared(status, verb)
    before = deepcopy(instance)

    if status in ALLOWED[verb]:
        ACTS[verb](world, instance)
        assert instance.status is LEADS_TO.get(verb, status)
        assert instance != before
    else:
        with pytest.raises(Refusal) as refusal:
            ACTS[verb](world, instance)
        is_too_early = verb is Verb.RENEW and status in BEING_MADE
        reason = "CREATING_INSTANCE_NOT_SUPPORT_RENEWAL" if is_too_early else "INVALID_STATE_CHANGE"
        assert (refusal.value.status, refusal.value.reason) == (400, reason)
        assert is_too_early or refusal.value.message == "invalid state change"
        assert instance == before


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_has_a_guard_and_is_tried(verb: Verb) -> None:
    assert ALLOWED[verb]
    assert verb in ACTS


@pytest.mark.parametrize("status", list(FOLLOWS))
def test_time_alone_leads_from_a_passing_status_to_the_next(status: Status) -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, status)

    due = world.next_due()
    assert due is not None
    world.advance(due)

    assert instance.status is FOLLOWS[status]


@pytest.mark.parametrize("status", [status for status in LIVING if status not in FOLLOWS])
def test_a_settled_status_stays(status: Status) -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, status)

    world.advance(EPOCH + 3600)

    assert instance.status is status


@pytest.mark.parametrize("verb", list(Verb))
def test_an_open_job_blocks_all_but_delete_and_settings(verb: Verb) -> None:
    status = sorted(ALLOWED[verb])[0] if Status.RUNNING not in ALLOWED[verb] else Status.RUNNING
    world, instance = prepared(status, verb)
    open_job(world, instance, JobType.SAVE_IMAGE)

    if verb in BLOCKED_BY_JOBS:
        with pytest.raises(Refusal, match="invalid state change"):
            ACTS[verb](world, instance)
    else:
        ACTS[verb](world, instance)

    assert (Verb.DELETE in BLOCKED_BY_JOBS) is False


@pytest.mark.parametrize("status", LIVING)
def test_only_instances_that_hold_a_gpu_take_from_the_shelf(status: Status) -> None:
    world = new_world(EPOCH)
    shelf = world.shelves[shelf_id("4090.16c62g", "us-ca-6", Mode.ON_DEMAND)]
    full = shelf.free

    a_simulated_instance(world, status)

    assert full - shelf.free == (1 if status in HOLDS_GPU else 0)


@pytest.mark.parametrize("spot_status", [SpotStatus.NOTIFIED, SpotStatus.RECLAIMING])
def test_a_spot_instance_whose_node_is_wanted_cannot_migrate(spot_status: SpotStatus) -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)
    instance.spot_status = spot_status

    with pytest.raises(Refusal, match="invalid state change"):
        verbs.migrate(world, instance)


def test_an_unknown_instance_and_somebody_elses_are_not_found() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)

    for account, key in (("default", "0000000000000000"), ("somebody", instance.id)):
        with pytest.raises(Refusal) as refusal:
            verbs.find(world, account, key)
        assert (refusal.value.status, refusal.value.reason) == (404, "RESOURCE_NOT_FOUND")


def test_a_monthly_instance_cannot_be_deleted_before_its_term_is_over() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)

    with pytest.raises(Refusal) as refusal:
        verbs.delete(world, instance)
    assert refusal.value.reason == "PREPAID_INSTANCE_NOT_SUPPORT_RELEASE"

    world.advance(instance.ends_at + 60)
    verbs.delete(world, instance)

    assert instance.status is Status.TO_REMOVE


def test_an_edit_replaces_the_ports_and_lets_the_disk_grow() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)

    verbs.edit(world, instance, (ExposedPort(9000, "tcp"),), 40)
    verbs.edit(world, instance, None, 0)

    assert instance.ports == (ExposedPort(9000, "tcp"),)
    assert instance.rootfs_gb == an_order().rootfs_gb + 40


def test_a_disk_does_not_grow_beyond_what_the_product_allows() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world)

    with pytest.raises(Refusal, match="expandRootDisk"):
        verbs.edit(world, instance, None, 10_000)

    assert instance.rootfs_gb == an_order().rootfs_gb


def test_an_upgrade_replaces_what_runs_and_a_stopped_instance_runs_afterwards() -> None:
    world = new_world(EPOCH)
    instance = a_simulated_instance(world, Status.EXITED)

    verbs.upgrade(world, instance, Rebuild("other/image:2", command="serve"))
    world.advance(EPOCH + 600)

    assert instance.status is Status.RUNNING
    assert (instance.image_url, instance.command, instance.envs) == ("other/image:2", "serve", ())
