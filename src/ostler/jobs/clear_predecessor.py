"""Clearing what an instance had before it was recreated elsewhere: its old upstream, billed until it is
gone.

Asked for once the new upstream is usable, or when the instance is deleted. Never given up. The row
forgets its predecessor only when the cloud, after a delete, no longer finds it.
"""

from dataclasses import replace
from datetime import timedelta

from ostler.cloud.lane import Lane
from ostler.cloud.refusals import CloudRefusal, Gone
from ostler.domain.instance import Change, Instance
from ostler.domain.lifecycle import State
from ostler.domain.upstream import REMOVAL
from ostler.domain.work import WorkKind
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.recover import is_to_recover
from ostler.jobs.workshop import Workshop, retry_after

_LOOK_AFTER = timedelta(seconds=5)


class ClearPredecessor:
    """The body of `clear_predecessor`."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self._shop.read(context)
        if row is None or row.instance.predecessor_id is None:
            return Done()
        instance = row.instance
        is_over = instance.state in {State.TERMINATING, State.TERMINATED}
        is_due = instance.is_usable or is_over or is_to_recover(instance)
        if not is_due:  # the new one is not usable any more: its own way decides, and asks again
            return Done()
        return await self._clear(context, row.instance.predecessor_id)

    async def _clear(self, context: JobContext, predecessor_id: str) -> Outcome:
        try:
            shown = await self._shop.cloud.get(predecessor_id, lane=Lane.BACKGROUND)
            if shown.state not in REMOVAL:
                await self._shop.cloud.delete(predecessor_id, lane=Lane.BACKGROUND)
        except Gone:
            await self._shop.apply(context, lambda instance: _cleared(instance, predecessor_id))
            return Done()
        except CloudRefusal as refusal:
            return retry_after(refusal, self._shop.clock.now())
        return Wait(_LOOK_AFTER)


def _cleared(instance: Instance, predecessor_id: str) -> Change:
    if instance.predecessor_id != predecessor_id:
        return Change(instance)
    change = Change(replace(instance, predecessor_id=None))
    if instance.state is State.TERMINATING:
        return change.asking(WorkKind.DELETE)
    return change.asking(WorkKind.RECOVER) if is_to_recover(instance) else change
