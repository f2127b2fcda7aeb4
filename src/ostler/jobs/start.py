"""Starting what is stopped: the command, repeated while there is no capacity, within the operation's time.

When it cannot be started, the instance is stopped again, with the reason. Whether it comes up after the
cloud has taken the command is the startup clock's and the watcher's matter.
"""

from datetime import timedelta

from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import (
    Ambiguous,
    CloudRefusal,
    Gone,
    InvalidState,
    NoCapacity,
    RefusalReason,
    Refused,
)
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.outcomes import start_gave_up
from ostler.domain.upstream import STOPPED
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.commanding import Errand, Sent, is_settled, look, next_look_in, send, settle
from ostler.jobs.workshop import Workshop, not_yet, retry_after

_LOOK_AFTER = timedelta(seconds=2)
_TRY_AGAIN = timedelta(seconds=10)
_BEFORE_THE_END = timedelta(seconds=1)  # the last try, so that the startup clock does not end it first
_FOR_THE_WATCHER = timedelta(seconds=30)


class Start:
    """The body of `start_instance`."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self._shop.read(context)
        if row is None or row.instance.state is not State.STARTING:
            return Done()
        if is_settled(row.instance, row.instance.start_began_at):
            return await self._follow(context, row.instance)
        sent = await send(context, self._shop, Errand(_start, State.STARTING))
        return Done() if sent is None else await self._act_on(context, sent)

    async def _act_on(self, context: JobContext, sent: Sent) -> Outcome:
        match sent.refusal:
            case None:
                return Wait(_LOOK_AFTER)
            case Ambiguous() | InvalidState():  # either may hide a success
                return await self._compare(context, sent.instance)
            case NoCapacity() as refusal:
                return await self._wait_for_capacity(context, sent.instance, refusal)
            case Gone():
                return Wait(_FOR_THE_WATCHER)
            case Refused(reason=reason) as refusal if reason is not RefusalReason.CONFLICT:
                return await self._give_up(context, FailureCode.REFUSED_BY_CLOUD, str(refusal))
            case refusal:
                return retry_after(refusal, self._shop.clock.now())

    async def _compare(self, context: JobContext, instance: Instance) -> Outcome:
        assert instance.upstream_id is not None, instance.id
        assert instance.command is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return Wait(_FOR_THE_WATCHER)
        if shown.state in STOPPED:
            return not_yet(context, shown.status)
        await settle(context, self._shop, instance.command.sent_at)
        return Wait(_LOOK_AFTER)

    async def _wait_for_capacity(
        self, context: JobContext, instance: Instance, refusal: CloudRefusal
    ) -> Outcome:
        began_at = instance.start_began_at or instance.created_at
        left = began_at + instance.spec.startup_timeout - _BEFORE_THE_END - self._shop.clock.now()
        if left <= timedelta():
            return await self._give_up(context, FailureCode.RESOURCE_CONSTRAINTS, str(refusal))
        return Wait(min(left, _TRY_AGAIN))

    async def _give_up(self, context: JobContext, code: FailureCode, message: str) -> Outcome:
        failure = Failure(code, message, self._shop.clock.now())
        await self._shop.apply(context, lambda instance: start_gave_up(instance, failure))
        return Done()

    async def _follow(self, context: JobContext, instance: Instance) -> Outcome:
        """See it leave the stopped state once; from there the watcher follows it."""
        assert instance.upstream_id is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return Wait(_FOR_THE_WATCHER)
        is_moving = shown.state not in STOPPED
        return Done() if is_moving else Wait(next_look_in(instance, self._shop.clock.now()))


async def _start(cloud: Cloud, upstream_id: str) -> None:
    await cloud.start(upstream_id)
