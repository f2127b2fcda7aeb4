"""The verbs: what a caller asks of an instance that exists. Both faces (v1, v2) call these.

Each checks its guard (`status.ALLOWED`, open jobs, the spot market), changes the instance and answers at
once; the rest happens as time passes. Money in advance is in `subscription.py`, creating one in
`creation.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

from ostler.simulator import spot, stockroom, subscription
from ostler.simulator.accounting import charge, require_balance
from ostler.simulator.instance import ExposedPort, Instance, Mode, SpotStatus
from ostler.simulator.job import JOBS, Job, JobState, JobType, end_job, open_job
from ostler.simulator.job import save_image as begin_saving
from ostler.simulator.lifecycle import move
from ostler.simulator.order import Rebuild
from ostler.simulator.refusal import (
    Refusal,
    bad_parameter,
    invalid_state,
    no_capacity,
    no_capacity_to_migrate,
    not_found,
    term_over,
)
from ostler.simulator.status import ALLOWED, BEING_MADE, BLOCKED_BY_JOBS, HOLDS_GPU, LEADS_TO, Verb
from ostler.simulator.world import INSTANCES, World

P = ParamSpec("P")
R = TypeVar("R")


def _shown_late(
    verb: Callable[Concatenate[World, Instance, P], R],
) -> Callable[Concatenate[World, Instance, P], R]:
    """Let lists notice what a verb does only as late as they are; what is refused does nothing."""

    def act(world: World, instance: Instance, /, *args: P.args, **kwargs: P.kwargs) -> R:
        former = replace(instance, jobs=dict(instance.jobs), timers={})
        result = verb(world, instance, *args, **kwargs)
        world.hold_back(INSTANCES, instance.id, former)
        return result

    return act


def find(world: World, account: str, instance_id: str) -> Instance:
    """Return an account's instance, or refuse an id that is unknown, removed or somebody else's."""
    instance = world.instances.get(instance_id)
    if instance is None or instance.account != account:
        raise not_found(what="instance")
    return instance


def check(instance: Instance, verb: Verb) -> None:
    """Refuse a verb where it is not allowed."""
    if verb is Verb.RENEW and instance.status in BEING_MADE:
        raise Refusal(
            400,
            reason="CREATING_INSTANCE_NOT_SUPPORT_RENEWAL",
            message="an instance that is being created does not support renewal",
        )
    if instance.status not in ALLOWED[verb] or (instance.jobs and verb in BLOCKED_BY_JOBS):
        raise invalid_state()
    if verb is Verb.MIGRATE and instance.spot_status in {SpotStatus.NOTIFIED, SpotStatus.RECLAIMING}:
        raise invalid_state()


@_shown_late
def start(world: World, instance: Instance) -> None:
    """Start a stopped instance on its own node, unless its GPUs were given away."""
    check(instance, Verb.START)
    _hold_own_node(world, instance)
    _obey(world, instance, Verb.START)


@_shown_late
def stop(world: World, instance: Instance) -> None:
    """Stop a running instance; its GPUs go back on the shelf."""
    check(instance, Verb.STOP)
    spot.leave_market(instance)
    _obey(world, instance, Verb.STOP)


@_shown_late
def restart(world: World, instance: Instance) -> None:
    """Restart a running instance where it is."""
    check(instance, Verb.RESTART)
    _obey(world, instance, Verb.RESTART)


@_shown_late
def delete(world: World, instance: Instance) -> None:
    """Remove an instance for good; one paid in advance only when its term is over."""
    check(instance, Verb.DELETE)
    if instance.mode is Mode.MONTHLY and not instance.is_expired(world.now):
        raise Refusal(
            400,
            reason="PREPAID_INSTANCE_NOT_SUPPORT_RELEASE",
            message="Prepaid instances do not currently support release",
        )
    for job_id in list(instance.jobs):
        end_job(world, world.rows(JOBS)[job_id], JobState.FAIL, "the instance was removed")
    instance.timers.clear()
    _obey(world, instance, Verb.DELETE)


@_shown_late
def migrate(world: World, instance: Instance) -> Job:
    """Move an instance to another node of its cluster under the same id; what its disks had is lost."""
    check(instance, Verb.MIGRATE)
    if not stockroom.has_room_for(world, instance):
        raise no_capacity_to_migrate()
    _hold_gpus(world, instance, no_capacity_to_migrate())
    spot.leave_market(instance)
    job = open_job(world, instance, JobType.MIGRATE)
    job.state = JobState.RUNNING
    _obey(world, instance, Verb.MIGRATE)
    return job


@_shown_late
def upgrade(world: World, instance: Instance, rebuild: Rebuild) -> None:
    """Make the container anew from other settings; a stopped instance runs afterwards."""
    check(instance, Verb.UPGRADE)
    _hold_own_node(world, instance)
    instance.image_url = rebuild.image_url
    instance.image_auth_id = rebuild.image_auth_id
    instance.envs = rebuild.envs
    instance.command = rebuild.command
    instance.entrypoint = rebuild.entrypoint
    if rebuild.volumes is not None:
        instance.volumes = rebuild.volumes
    _obey(world, instance, Verb.UPGRADE)


@_shown_late
def edit(
    world: World, instance: Instance, ports: tuple[ExposedPort, ...] | None, expand_rootfs_gb: int
) -> None:
    """Replace the list of ports (None: leave it), and let the system disk grow."""
    check(instance, Verb.EDIT)
    largest = world.products[instance.product_id].max_rootfs_gb
    if instance.rootfs_gb + expand_rootfs_gb > largest:
        raise bad_parameter(message=f"invalid expandRootDisk: the disk may not exceed {largest} GB")
    if ports is not None:
        instance.ports = ports
    instance.rootfs_gb += expand_rootfs_gb
    charge(world, instance)
    world.touch(INSTANCES, instance.id)


@_shown_late
def save_image(world: World, instance: Instance, image: str, registry_auth_id: str = "") -> Job:
    """Begin to keep the container as an image."""
    check(instance, Verb.SAVE_IMAGE)
    return begin_saving(world, instance, image, registry_auth_id)


@_shown_late
def renew(world: World, instance: Instance, months: int) -> None:
    """Pay for more months."""
    check(instance, Verb.RENEW)
    subscription.renew(world, instance, months)


@_shown_late
def to_monthly(world: World, instance: Instance, months: int) -> None:
    """Go over from paying by the second to paying in advance."""
    check(instance, Verb.TO_MONTHLY)
    subscription.to_monthly(world, instance, months)


@_shown_late
def to_on_demand(world: World, instance: Instance) -> None:
    """Go over to paying by the second when the term ends."""
    check(instance, Verb.TO_MONTHLY)
    subscription.to_on_demand(world, instance)


@_shown_late
def set_auto_migrate(world: World, instance: Instance, *, on: bool, system_disk: bool) -> None:
    """Say whether the cloud moves the instance off a failing node, and its system disk with it."""
    check(instance, Verb.SET_AUTO_MIGRATE)
    instance.auto_migrate = on
    instance.auto_migrate_system_disk = on and system_disk
    world.touch(INSTANCES, instance.id)


@_shown_late
def set_auto_renew(world: World, instance: Instance, *, on: bool, months: int) -> None:
    """Say whether a paid term is renewed by itself."""
    check(instance, Verb.SET_AUTO_RENEW)
    subscription.set_auto_renew(world, instance, on=on, months=months)


def _hold_own_node(world: World, instance: Instance) -> None:
    if instance.spot_status is SpotStatus.TERMINATED:
        raise no_capacity()  # its node is gone; only migrating finds another
    _hold_gpus(world, instance, no_capacity())


def _hold_gpus(world: World, instance: Instance, otherwise: Refusal) -> None:
    if instance.status in HOLDS_GPU:
        return
    if instance.is_expired(world.now):
        raise term_over()
    require_balance(world, instance.account)
    if not stockroom.has_room_for(world, instance):
        raise otherwise
    stockroom.take(world, instance)


def _obey(world: World, instance: Instance, verb: Verb) -> None:
    instance.fate = world.next_fate(verb)
    move(world, instance, LEADS_TO[verb])
