"""Refreshing: one GET for what a list does not show, such as the connection details of what just began to
run.

Asked for by a transition, by a read of an old row, or by hand. A refusal is worth a few tries; the
watcher looks again anyway. "Not found" concludes nothing here: that takes the watcher's passes.
"""

from ostler.cloud.refusals import CloudRefusal
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, GiveUp, Outcome
from ostler.jobs.commanding import look
from ostler.jobs.workshop import Workshop, retry_after

_TRIES = 5


class Refresh:
    """The body of `refresh_instance`."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self._shop.read(context)
        if row is None or row.instance.upstream_id is None:
            return Done()
        try:
            await look(context, self._shop, row.instance.upstream_id)
        except CloudRefusal as refusal:
            if context.attempt >= _TRIES:
                return GiveUp(str(refusal))
            return retry_after(refusal, self._shop.clock.now())
        return Done()
