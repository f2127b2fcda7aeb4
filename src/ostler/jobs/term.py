"""The end of a prepaid term: what is paid in advance cannot be deleted early.

Auto-renewal is turned off, and the instance waits in the phase `until_end_of_term`; once the term is over
it is deleted like any other. Used by `delete.py`.
"""

from datetime import timedelta

from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import CloudRefusal, Gone
from ostler.cloud.upstream import Upstream
from ostler.domain.catalogue import BillingMode
from ostler.domain.instance import Change, Instance, in_phase
from ostler.domain.lifecycle import State
from ostler.domain.phases import TerminatingPhase
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.commanding import Errand, look, send
from ostler.jobs.workshop import Workshop, retry_after
from ostler.store.instances import InstanceRow

_LOOK_EVERY = timedelta(hours=1)


class EndOfTerm:
    """Waits for the end of prepaid terms."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    def is_prepaid(self, row: InstanceRow) -> bool:
        """Tell whether an instance was paid for in advance."""
        return row.placement is not None and row.placement.offer.billing_mode is BillingMode.MONTHLY

    async def wait(self, context: JobContext, instance: Instance) -> Outcome | None:
        """Wait while the term goes on; None: it is over, or the upstream is gone: go on deleting."""
        assert instance.upstream_id is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone) or not self._goes_on(shown):
            return None
        if instance.phase is not TerminatingPhase.UNTIL_END_OF_TERM:
            return await self.let_end(context)
        ends_in = _LOOK_EVERY if shown.ends_at is None else shown.ends_at - self._shop.clock.now()
        return Wait(min(ends_in, _LOOK_EVERY))

    async def let_end(self, context: JobContext) -> Outcome:
        """Turn auto-renewal off and begin to wait."""
        sent = await send(context, self._shop, Errand(_renew_no_more, State.TERMINATING))
        if sent is None:
            return Done()
        match sent.refusal:
            case None | Gone():
                await self._shop.apply(context, _waits)
                return Wait(timedelta(seconds=2))
            case CloudRefusal() as refusal:
                return retry_after(refusal, self._shop.clock.now())

    def _goes_on(self, shown: Upstream) -> bool:
        return shown.ends_at is not None and shown.ends_at > self._shop.clock.now()


def _waits(instance: Instance) -> Change:
    if instance.state is not State.TERMINATING:
        return Change(instance)
    return Change(in_phase(instance, TerminatingPhase.UNTIL_END_OF_TERM))


async def _renew_no_more(cloud: Cloud, upstream_id: str) -> None:
    await cloud.set_auto_renew(upstream_id, months=0)
