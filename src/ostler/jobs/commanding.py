"""Sending one command about an upstream: noted before it leaves, and noted again once the cloud has taken
it.

A command is *settled* when the cloud accepted it, or was seen to carry it out. Until then sights of the
upstream are not believed, for they may show the state from before; a refusal leaves it unsettled, because
the body goes on to decide about it. The order itself counts as one that is on its way
(`usecases/verbs.py`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import CloudRefusal, Gone
from ostler.cloud.upstream import Upstream
from ostler.domain.instance import Change, Instance, commanded
from ostler.domain.lifecycle import State
from ostler.domain.sightings import NOT_YET_WINDOW, Command
from ostler.engine.kind import JobContext
from ostler.jobs.workshop import Workshop
from ostler.usecases.record import Recorded

_FIRST_LOOK = timedelta(seconds=2)
_LAST_LOOK = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Errand:
    """A command to be sent: while in which state, and with which look before it to compare later."""

    call: Callable[[Cloud, str], Awaitable[None]]
    state: State
    before: Upstream | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a command: the instance after it, and the refusal if that was the answer."""

    instance: Instance
    refusal: CloudRefusal | None = None


async def send(context: JobContext, shop: Workshop, errand: Errand) -> Sent | None:
    """Send a command about the instance's upstream; None: it is not wanted any more, nothing was sent."""
    at = shop.clock.now()

    def leave(instance: Instance) -> Change:
        is_wanted = instance.state is errand.state and instance.upstream_id is not None
        return Change(commanded(instance, _command(errand, instance, at)) if is_wanted else instance)

    noted = (await shop.apply(context, leave)).instance
    is_noted = noted.state is errand.state and noted.command is not None and noted.command.sent_at == at
    if not is_noted or noted.upstream_id is None:
        return None
    try:
        await errand.call(shop.cloud, noted.upstream_id)
    except CloudRefusal as refusal:
        return Sent(noted, refusal)
    return Sent(await settle(context, shop, at))


async def settle(context: JobContext, shop: Workshop, sent_at: datetime) -> Instance:
    """Note that the cloud carries a command out; not when another one has left meanwhile."""
    at = shop.clock.now()

    def step(instance: Instance) -> Change:
        command = instance.command
        if command is None or command.sent_at != sent_at:
            return Change(instance)
        return Change(commanded(instance, replace(command, answered_at=at)))

    return (await shop.apply(context, step)).instance


async def look(context: JobContext, shop: Workshop, upstream_id: str) -> Upstream | Gone:
    """Look at an upstream and take in what it shows; "gone" is returned as a value, for it is an answer."""
    try:
        upstream = await shop.cloud.get(upstream_id, lane=Lane.BACKGROUND)
    except Gone as gone:
        return gone
    occasion = shop.occasion()

    def take_in(connection: Connection) -> Recorded:
        return shop.observation.note(connection, context.subject, upstream, occasion)

    await context.write(take_in)
    return upstream


def is_settled(instance: Instance, since: datetime | None) -> bool:
    """Tell whether a command given after an instant was taken by the cloud."""
    command = instance.command
    return (
        command is not None
        and command.answered_at is not None
        and (since is None or command.sent_at >= since)
    )


def is_window_over(instance: Instance, now: datetime) -> bool:
    """Tell whether an old state can no longer mean that the cloud is still carrying the command out."""
    command = instance.command
    return command is None or command.answered_at is None or now - command.answered_at >= NOT_YET_WINDOW


def next_look_in(instance: Instance, now: datetime) -> timedelta:
    """Return the pause before looking again: as long as it has taken so far, within bounds."""
    command = instance.command
    since = instance.created_at if command is None else command.answered_at or command.sent_at
    return min(max(now - since, _FIRST_LOOK), _LAST_LOOK)


def _command(errand: Errand, instance: Instance, at: datetime) -> Command:
    if errand.before is None:
        return Command(at, None, instance.upstream_state)
    return Command(at, None, errand.before.state, errand.before.started_at)
