"""Restarting: sent once; after a lost answer only if the cloud shows that it was not started since.

`lastStartedAt` from before the command is noted with it, because a restart that is repeated blindly would
cut off what its owner has begun again.
"""

from datetime import timedelta

from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import Ambiguous, Gone, InvalidState, NoCapacity, RefusalReason, Refused
from ostler.cloud.upstream import Upstream
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import Event, State
from ostler.domain.outcomes import start_failed
from ostler.domain.upstream import STARTING_UP
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.commanding import Errand, Sent, is_settled, look, send, settle
from ostler.jobs.workshop import Workshop, retry_after

_EFFECT_SHOWS_AFTER = timedelta(seconds=5)
_FOR_THE_WATCHER = timedelta(seconds=30)


class Restart:
    """The body of `restart_instance`."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self._shop.read(context)
        if row is None or row.instance.state is not State.STARTING:
            return Done()
        instance = row.instance
        if is_settled(instance, instance.start_began_at) or instance.upstream_id is None:
            return Done()
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return Wait(_FOR_THE_WATCHER)
        if was_sent(instance):
            return await self._compare(context, instance, shown)
        return await self._send(context, shown)

    async def _compare(self, context: JobContext, instance: Instance, shown: Upstream) -> Outcome:
        assert instance.command is not None, instance.id
        if has_started_since(instance, shown):
            await settle(context, self._shop, instance.command.sent_at)
            return Done()
        if self._shop.clock.now() - instance.command.sent_at < _EFFECT_SHOWS_AFTER:
            return Wait(_EFFECT_SHOWS_AFTER)
        return await self._send(context, shown)

    async def _send(self, context: JobContext, shown: Upstream) -> Outcome:
        sent = await send(context, self._shop, Errand(_restart, State.STARTING, before=shown))
        return Done() if sent is None else await self._act_on(context, sent)

    async def _act_on(self, context: JobContext, sent: Sent) -> Outcome:
        match sent.refusal:
            case None:
                return Done()
            case Ambiguous() | InvalidState():
                return Wait(_EFFECT_SHOWS_AFTER)
            case Gone():
                return Wait(_FOR_THE_WATCHER)
            case Refused(reason=reason) as refusal if reason is not RefusalReason.CONFLICT:
                return await self._fail(context, FailureCode.REFUSED_BY_CLOUD, str(refusal))
            case NoCapacity() as refusal:
                return await self._fail(context, FailureCode.RESOURCE_CONSTRAINTS, str(refusal))
            case refusal:
                return retry_after(refusal, self._shop.clock.now())

    async def _fail(self, context: JobContext, code: FailureCode, message: str) -> Outcome:
        failure = Failure(code, message, self._shop.clock.now())
        await self._shop.apply(
            context, lambda instance: start_failed(instance, Event.STARTUP_FAILED, failure)
        )
        return Done()


def was_sent(instance: Instance) -> bool:
    """Tell whether a command with something to compare may have left; the bare order has nothing."""
    command, began_at = instance.command, instance.start_began_at
    return (
        command is not None
        and command.last_started_before is not None
        and (began_at is None or command.sent_at >= began_at)
    )


def has_started_since(instance: Instance, shown: Upstream) -> bool:
    """Tell whether the cloud shows a start that is younger than the one before the command."""
    before = None if instance.command is None else instance.command.last_started_before
    is_younger = before is not None and shown.started_at is not None and shown.started_at > before
    return is_younger or shown.state in STARTING_UP


async def _restart(cloud: Cloud, upstream_id: str) -> None:
    await cloud.restart(upstream_id)
