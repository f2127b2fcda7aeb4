"""Scenes: one piece of work each, with what leads to it and how it must end, whatever happens on the way.

A *scene* prepares an instance, spoils the cloud if it must, asks for one thing, and names the end. The
scaffolds of tests/chaos play it with processes that die, bodies that run twice, and clouds that fail.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from ostler.cloud.lane import Lane
from ostler.domain.catalogue import BillingMode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name
from ostler.domain.spec import InstanceSpec, Limits, OnReclaim
from ostler.domain.start_requests import StartRequest
from ostler.simulator.account.kinds import set_gpu_use
from ostler.simulator.faults import Fault
from ostler.simulator.spot import force_notice
from ostler.telemetry.trail import Trail
from ostler.usecases.asking import ById
from ostler.usecases.auto_stop import AutoStop
from ostler.usecases.braking import Braking
from ostler.usecases.idle_stop import IdleStop
from ostler.usecases.removal import Removal
from tests.support.core import INSTALL_ID, SOMEBODY, Installation, Ostler, a_wish
from tests.support.simulator import (
    CREATE,
    no_capacity,
    refused,
    reset_after_effect,
    timeout_after_effect,
    timeout_before_effect,
)
from tests.support.watching import an_order

Ask = Callable[[Ostler, str], Awaitable[str]]
Prepare = Callable[[Installation, Ostler], Awaitable[str]]
_VERB = "POST */gpu/instance/{verb}"


@dataclass(frozen=True, slots=True)
class Scene:
    """One piece of work."""

    name: str
    prepare: Prepare  # returns the instance's id, or an empty text when there is none yet
    ask: Ask  # asking twice is asking once; returns the instance's id
    end: State
    upstreams: int  # how many the cloud has in the end
    ever_made: int = 1  # how many it ever made
    or_else: State | None = None  # where it may end as well, with nothing at the cloud
    route: str = CREATE
    faults: tuple[Fault, ...] = ()

    def is_end(self, state: State, alive: int) -> bool:
        """Tell whether an instance in this state, with so many upstreams alive, has come to the end."""
        return (state, alive) == (self.end, self.upstreams) or (state, alive) == (self.or_else, 0)

    def spoil(self, home: Installation) -> None:
        """Let the cloud fail as the scene wants."""
        for fault in self.faults:
            home.simulated.next_call(self.route, fault)


async def _nothing(home: Installation, ostler: Ostler) -> str:
    del home, ostler
    return ""


async def _running(home: Installation, ostler: Ostler) -> str:
    del home
    accepted = await ostler.accept(a_wish(), "first")
    await ostler.until(accepted.instance_id, State.RUNNING)
    return accepted.instance_id


async def _exited(home: Installation, ostler: Ostler) -> str:
    instance_id = await _running(home, ostler)
    await ostler.verbs.stop(ById(instance_id), SOMEBODY)
    await ostler.until(instance_id, State.EXITED)
    return instance_id


async def _doubled(home: Installation, ostler: Ostler) -> str:
    instance_id = await _running(home, ostler)
    await ostler.cloud.create(an_order(marked_name("demo", Mark(INSTALL_ID, instance_id, attempt=9))))
    return instance_id


def _reclaimed(on_reclaim: OnReclaim) -> Prepare:
    async def prepare(home: Installation, ostler: Ostler) -> str:
        spec = replace(a_wish(), billing_mode=BillingMode.SPOT, on_reclaim=on_reclaim)
        accepted = await ostler.accept(spec, "first")
        running = await ostler.until(accepted.instance_id, State.RUNNING)
        assert running.upstream_id is not None
        world = home.simulated.world
        force_notice(world, world.instances[running.upstream_id], 5.0)
        await ostler.engine.stop()  # so that nobody recovers it before the scene begins
        await ostler.until(accepted.instance_id, State.EXITED)
        return accepted.instance_id

    return prepare


def _create(spec: InstanceSpec) -> Ask:
    async def ask(ostler: Ostler, _: str) -> str:
        return (await ostler.accept(spec, "the request")).instance_id

    return ask


async def _create_and_delete(ostler: Ostler, _: str) -> str:
    accepted = await ostler.accept(a_wish(), "the request")
    await ostler.verbs.delete(ById(accepted.instance_id), SOMEBODY)
    return accepted.instance_id


async def _create_and_stop(ostler: Ostler, _: str) -> str:
    accepted = await ostler.accept(a_wish(), "the request")
    await ostler.verbs.stop(ById(accepted.instance_id), SOMEBODY)
    return accepted.instance_id


def _create_and_stop_later(spec: InstanceSpec) -> Ask:
    async def ask(ostler: Ostler, _: str) -> str:
        accepted = await ostler.accept(spec, "the request")
        await ostler.clock.sleep(5)
        await ostler.verbs.stop(ById(accepted.instance_id), SOMEBODY)
        return accepted.instance_id

    return ask


async def _stop(ostler: Ostler, instance_id: str) -> str:
    await ostler.verbs.stop(ById(instance_id), SOMEBODY)
    return instance_id


async def _delete(ostler: Ostler, instance_id: str) -> str:
    await ostler.verbs.delete(ById(instance_id), SOMEBODY)
    return instance_id


async def _start(ostler: Ostler, instance_id: str) -> str:
    if (await ostler.instance(instance_id)).state is State.EXITED:
        await ostler.verbs.start(ById(instance_id), SOMEBODY, StartRequest(), HealthPolicy())
    return instance_id


async def _restart(ostler: Ostler, instance_id: str) -> str:
    if (await ostler.instance(instance_id)).state is not State.STARTING:
        await ostler.verbs.restart(ById(instance_id), SOMEBODY)
    return instance_id


async def _migrate(ostler: Ostler, instance_id: str) -> str:
    if (await ostler.instance(instance_id)).state is not State.MIGRATING:
        await ostler.verbs.migrate(ById(instance_id), SOMEBODY, accepts_data_loss=True)
    return instance_id


async def _remove_what_no_row_has(ostler: Ostler, instance_id: str) -> str:
    own = (await ostler.instance(instance_id)).upstream_id
    removal = Removal(ostler.engine)
    for upstream in (await ostler.cloud.list_all(lane=Lane.WATCHER)).upstreams:
        if upstream.id != own:
            await ostler.database.write(
                lambda connection, upstream_id=upstream.id: removal.ask(connection, upstream_id)  # type: ignore[misc]
            )
    return instance_id


async def _idle(home: Installation, ostler: Ostler) -> str:
    spec = replace(a_wish(), limits=Limits(idle_stop=timedelta(minutes=30)))
    accepted = await ostler.accept(spec, "first")
    running = await ostler.until(accepted.instance_id, State.RUNNING)
    assert running.upstream_id is not None
    set_gpu_use(home.simulated.world, running.upstream_id, 0.0)
    await ostler.clock.sleep(60 * 60)
    return accepted.instance_id


async def _stop_what_is_idle(ostler: Ostler, instance_id: str) -> str:
    idle_stop = IdleStop(ostler.database, ostler.cloud, Braking(ostler.recorder, ostler.verbs), ostler.clock)
    await AutoStop(idle_stop, ostler.database, ostler.engine, Trail()).check(SOMEBODY)
    return instance_id


async def _nothing_more(_: Ostler, instance_id: str) -> str:
    return instance_id


_CHECKED = replace(a_wish(), health=HealthPolicy())
_PLAIN = _create(a_wish())
_WAITING_FOR_STOCK = replace(a_wish(product_name="RTX 6000 Ada 48GB"), retry_until_available=True)

SCENES = (
    Scene("create", _nothing, _PLAIN, State.RUNNING, 1),
    Scene("create and check", _nothing, _create(_CHECKED), State.READY, 1),
    Scene("create, answer lost", _nothing, _PLAIN, State.RUNNING, 1, faults=(timeout_after_effect(),)),
    Scene(
        "create, reset after the effect", _nothing, _PLAIN, State.RUNNING, 1, faults=(reset_after_effect(),)
    ),
    Scene("create, call lost", _nothing, _PLAIN, State.RUNNING, 1, faults=(timeout_before_effect(),)),
    Scene("create, first offer sold out", _nothing, _PLAIN, State.RUNNING, 1, faults=(no_capacity(),)),
    Scene("delete while creating", _nothing, _create_and_delete, State.TERMINATED, 0),
    Scene(
        "delete while the create is ambiguous",
        _nothing,
        _create_and_delete,
        State.TERMINATED,
        0,
        faults=(timeout_after_effect(),),
    ),
    Scene("stop while creating", _nothing, _create_and_stop, State.EXITED, 1, or_else=State.FAILED),
    Scene(
        "stop while the create waits for stock",
        _nothing,
        _create_and_stop_later(_WAITING_FOR_STOCK),
        State.FAILED,
        0,
        ever_made=0,
    ),
    Scene(
        "stop while the create is ambiguous and its call was lost",
        _nothing,
        _create_and_stop_later(a_wish()),
        State.FAILED,
        0,
        ever_made=0,
        faults=(timeout_before_effect(),),
    ),
    Scene("stop", _running, _stop, State.EXITED, 1),
    Scene("stop what is idle", _idle, _stop_what_is_idle, State.EXITED, 1),
    Scene("start", _exited, _start, State.READY, 1),
    Scene(
        "start that says it failed",
        _exited,
        _start,
        State.READY,
        1,
        route=_VERB.format(verb="start"),
        faults=(refused("INVALID_STATE_CHANGE", after_effect=True),),
    ),
    Scene("restart", _running, _restart, State.RUNNING, 1),
    Scene(
        "restart, answer lost",
        _running,
        _restart,
        State.RUNNING,
        1,
        route=_VERB.format(verb="restart"),
        faults=(timeout_after_effect(),),
    ),
    Scene("delete", _running, _delete, State.TERMINATED, 0),
    Scene(
        "delete, answer lost",
        _running,
        _delete,
        State.TERMINATED,
        0,
        route=_VERB.format(verb="delete"),
        faults=(timeout_after_effect(),),
    ),
    Scene("remove a duplicate", _doubled, _remove_what_no_row_has, State.RUNNING, 1, ever_made=2),
    Scene(
        "remove a duplicate, answer lost",
        _doubled,
        _remove_what_no_row_has,
        State.RUNNING,
        1,
        ever_made=2,
        route=_VERB.format(verb="delete"),
        faults=(timeout_after_effect(),),
    ),
    Scene("migrate by hand", _running, _migrate, State.RUNNING, 1),
    Scene("migrate what was reclaimed", _reclaimed(OnReclaim.MIGRATE), _nothing_more, State.RUNNING, 1),
    Scene(
        "recreate what was reclaimed",
        _reclaimed(OnReclaim.RECREATE),
        _nothing_more,
        State.RUNNING,
        1,
        ever_made=2,
    ),
)
