"""Stopping: the command, repeated until the cloud says that the instance has stopped. Never given up: it
costs.

Sent without looking first, for a stop that comes twice does no harm and a user waits for it. Only what was
last known as stopped is looked at before, because a start may be under way there: what is seen afterwards
has to be told from the stop before that start.
"""

from datetime import timedelta

from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import Ambiguous, Gone, InvalidState
from ostler.cloud.upstream import Upstream
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.upstream import STOPPED, UpstreamState
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.commanding import Errand, is_settled, is_window_over, look, next_look_in, send, settle
from ostler.jobs.workshop import Workshop, not_yet, retry_after

_LOOK_AFTER = timedelta(seconds=2)
_FOR_THE_WATCHER = timedelta(seconds=30)  # it judges whether what is not found is gone
_ON_ITS_WAY = STOPPED | {UpstreamState.STOPPING}


class Stop:
    """The body of `stop_instance`."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self._shop.read(context)
        if row is None or row.instance.state is not State.STOPPING:
            return Done()
        instance = row.instance
        is_sent = is_settled(instance, None) and not is_window_over(instance, self._shop.clock.now())
        return await (self._follow if is_sent else self._send)(context, instance)

    async def _send(self, context: JobContext, instance: Instance) -> Outcome:
        before = await self._seen_before(context, instance)
        if isinstance(before, Gone):
            return Wait(_FOR_THE_WATCHER)
        sent = await send(context, self._shop, Errand(_stop, State.STOPPING, before=before))
        if sent is None:
            return Done()
        match sent.refusal:
            case None:
                return Wait(_LOOK_AFTER)
            case Ambiguous() | InvalidState():
                return await self._compare(context, sent.instance)
            case Gone():
                return Wait(_FOR_THE_WATCHER)
            case refusal:
                return retry_after(refusal, self._shop.clock.now())

    async def _seen_before(self, context: JobContext, instance: Instance) -> Upstream | Gone | None:
        """Look at what was last known as stopped; nothing else waits for a look."""
        if not instance.is_upstream_stopped or instance.upstream_id is None:
            return None
        return await look(context, self._shop, instance.upstream_id)

    async def _compare(self, context: JobContext, instance: Instance) -> Outcome:
        """See whether the stop is being carried out after all, or was not needed."""
        assert instance.upstream_id is not None, instance.id
        assert instance.command is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return Wait(_FOR_THE_WATCHER)
        if shown.state not in _ON_ITS_WAY:
            return not_yet(context, shown.status)
        await settle(context, self._shop, instance.command.sent_at)
        return Wait(_LOOK_AFTER)

    async def _follow(self, context: JobContext, instance: Instance) -> Outcome:
        assert instance.upstream_id is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return Wait(_FOR_THE_WATCHER)
        return Wait(next_look_in(instance, self._shop.clock.now()))


async def _stop(cloud: Cloud, upstream_id: str) -> None:
    await cloud.stop(upstream_id)
