"""Deleting: never given up. It ends only when the cloud says that the upstream is gone, and nothing else
is left.

Sent without looking first, for a delete that comes twice does no harm. What was never placed has nothing
to be deleted, but an answer that was lost is looked up before that is believed. A delete that takes too
long raises an alarm, and goes on. Prepaid terms are in `term.py`.
"""

from datetime import timedelta

from sqlalchemy import Connection

from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import Ambiguous, Gone, InvalidState, RefusalReason, Refused
from ostler.domain.events import EventDraft, PublicEvent
from ostler.domain.instance import Change, Instance
from ostler.domain.lifecycle import State
from ostler.domain.outcomes import gone
from ostler.domain.phases import TerminatingPhase
from ostler.domain.sightings import is_deleted
from ostler.domain.upstream import REMOVAL
from ostler.domain.work import WorkKind
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.commanding import Errand, Sent, is_settled, is_window_over, look, next_look_in, send, settle
from ostler.jobs.term import EndOfTerm
from ostler.jobs.workshop import Workshop, not_yet, retry_after
from ostler.store.attempts import has_open_attempt
from ostler.store.events import last_event
from ostler.usecases.record import Edit

STUCK_AFTER = timedelta(minutes=5)
_STUCK = "the cloud does not remove it; it may be billed"
_STAYS = (State.TERMINATING.value, State.TERMINATING.value)
_LOOK_AFTER = timedelta(seconds=2)
_FOR_THE_OTHERS = timedelta(seconds=5)  # the create that is still looked up, the predecessor


class Delete:
    """The body of `delete_instance`."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._term = EndOfTerm(shop)

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self._shop.read(context)
        if row is None or row.instance.state is not State.TERMINATING:
            return Done()
        instance = row.instance
        if instance.upstream_id is None or await self._has_open_attempt(context):
            # the create ends it, or at least its attempts: then it is certain what is at the cloud
            return await self._leave_to(context, WorkKind.CREATE)
        if instance.predecessor_id is not None:
            return await self._leave_to(context, WorkKind.CLEAR_PREDECESSOR)
        await self._raise_alarm(context, instance)
        if self._term.is_prepaid(row) and (waiting := await self._term.wait(context, instance)) is not None:
            return waiting
        if is_settled(instance, None):
            return await self._follow(context, instance)
        return await self._send(context)

    async def _has_open_attempt(self, context: JobContext) -> bool:
        return await context.database.read(lambda connection: has_open_attempt(connection, context.subject))

    async def _leave_to(self, context: JobContext, kind: WorkKind) -> Outcome:
        await self._shop.apply(context, lambda instance: Change(instance).asking(kind))
        return Wait(_FOR_THE_OTHERS)

    async def _send(self, context: JobContext) -> Outcome:
        sent = await send(context, self._shop, Errand(_delete, State.TERMINATING))
        return Done() if sent is None else await self._act_on(context, sent)

    async def _act_on(self, context: JobContext, sent: Sent) -> Outcome:
        match sent.refusal:
            case None:
                return Wait(_LOOK_AFTER)
            case Ambiguous() | InvalidState():
                return await self._compare(context, sent.instance)
            case Gone():
                return await self._is_taken(context, sent.instance)
            case Refused(reason=RefusalReason.SUBSCRIPTION):
                return await self._term.let_end(context)
            case refusal:
                return retry_after(refusal, self._shop.clock.now())

    async def _compare(self, context: JobContext, instance: Instance) -> Outcome:
        """See whether the delete is being carried out after all."""
        assert instance.upstream_id is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone) or shown.state in REMOVAL:
            return await self._is_taken(context, instance)
        return not_yet(context, shown.status)

    async def _is_taken(self, context: JobContext, instance: Instance) -> Outcome:
        assert instance.command is not None, instance.id
        await settle(context, self._shop, instance.command.sent_at)
        return Wait(_LOOK_AFTER)

    async def _follow(self, context: JobContext, instance: Instance) -> Outcome:
        assert instance.upstream_id is not None, instance.id
        shown = await look(context, self._shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return await self._conclude(context, instance, shown)
        now = self._shop.clock.now()
        if shown.state not in REMOVAL and is_window_over(instance, now):
            return await self._send(context)
        return Wait(next_look_in(instance, now))

    async def _conclude(self, context: JobContext, instance: Instance, seen: Gone) -> Outcome:
        assert instance.command is not None, instance.id
        placed_at = instance.placed_at or instance.created_at
        if is_deleted(instance.command, seen.observed_at, placed_at, self._shop.settle):
            await self._shop.apply(context, lambda now: _ended(now, instance, seen))
            return Done()
        settled_in = placed_at + self._shop.settle - self._shop.clock.now()
        return Wait(max(settled_in, _LOOK_AFTER))

    async def _raise_alarm(self, context: JobContext, instance: Instance) -> None:
        """Tell once, and then every hour at most, that a delete does not get through."""
        if instance.phase is TerminatingPhase.UNTIL_END_OF_TERM:
            return
        occasion = self._shop.occasion()

        def tell(connection: Connection) -> None:
            began = last_event(connection, instance.id, PublicEvent.TERMINATING)
            told = last_event(connection, instance.id, PublicEvent.DELETE_STUCK)
            last_at = max((event.at for event in (began, told) if event is not None), default=occasion.at)
            patience = STUCK_AFTER if told is None or told.at < last_at else timedelta(hours=1)
            if occasion.at - last_at < patience:
                return
            before = self._shop.recorder.lock(connection, instance.id)
            alarm = EventDraft(PublicEvent.DELETE_STUCK, *_STAYS, _STUCK, is_alarm=True)
            edit = Edit(Change(before.instance, events=(alarm,)))
            self._shop.recorder.write(connection, before, edit, occasion)

        await context.write(tell)


def _ended(now: Instance, then: Instance, seen: Gone) -> Change:
    is_same = now.state is State.TERMINATING and now.upstream_id == then.upstream_id
    return gone(now, seen.observed_at) if is_same else Change(now)


async def _delete(cloud: Cloud, upstream_id: str) -> None:
    await cloud.delete(upstream_id)
