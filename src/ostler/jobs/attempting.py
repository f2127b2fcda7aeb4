"""One attempt at the cloud: written down, called by one owner, answered, recorded. Never two in flight.

The intent is stored before anything is sent. Only the winner of `intended → calling` sends, only before its
deadline, and whoever finds `calling` under another owner takes it for ambiguous. An *owner* is one run of the
body: even the same process, running it again, is another.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.refusals import CloudRefusal, Gone, RefusalReason, Refused, TooLate
from ostler.cloud.upstream import CreateOrder
from ostler.domain.attempts import (
    Attempt,
    answered,
    called,
    may_send,
    placed,
    taken_over,
    withdrawn,
)
from ostler.domain.catalogue import Offer
from ostler.domain.instance import Change, Instance, in_phase
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name
from ostler.domain.offers import offer_key
from ostler.domain.outcomes import placed as placed_at_cloud
from ostler.domain.outcomes import recreated
from ostler.domain.phases import CreatingPhase
from ostler.domain.work import WorkKind
from ostler.engine.kind import JobContext
from ostler.jobs.answers import Answered, answered_by
from ostler.jobs.goals import Goal, is_recreation
from ostler.jobs.workshop import Workshop
from ostler.store.attempts import AttemptRow, insert_attempt, swap_attempt
from ostler.store.instances import Placement
from ostler.usecases.record import Edit

_OPERATION = "create"
SEND_WITHIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Attempts:
    """Carries attempts through their lives."""

    shop: Workshop

    async def intend(self, context: JobContext, goal: Goal, offer: Offer) -> None:
        """Write down that an offer is to be tried."""
        occasion = self.shop.occasion()
        mark = Mark(self.shop.install_id, goal.instance.id, goal.next_number)
        attempt = Attempt(
            instance_id=goal.instance.id,
            number=goal.next_number,
            upstream_name=marked_name(goal.instance.name, mark),
            offer=offer_key(offer),
            price_per_hour=offer.price_per_hour,
        )
        row = AttemptRow(attempt, offer.region.code, offer.product.name, occasion.at, prepaid=offer.prepaid)

        def write(connection: Connection) -> None:
            before = self.shop.recorder.lock(connection, goal.instance.id)
            if not _is_still_wanted(before.instance, goal):
                return
            insert_attempt(connection, row)
            change = Change(_in_creating_phase(before.instance, CreatingPhase.PLACING))
            self.shop.recorder.write(connection, before, Edit(change), occasion)

        await context.write(write)

    async def call(
        self, context: JobContext, goal: Goal, row: AttemptRow, order: CreateOrder
    ) -> Answered | None:
        """Send an intended attempt and record the answer; None: placed, or somebody else's by now."""
        calling = await self._win(context, goal, row)
        if calling is None:
            return None
        deadline = calling.attempt.deadline_at
        try:
            if not may_send(calling.attempt, calling.attempt.owner or "", self.shop.clock.now()):
                raise TooLate(_OPERATION)
            upstream_id = await self._order(order, deadline)
        except CloudRefusal as refusal:
            answer = answered_by(refusal, self.shop.clock.now())
            await self._note_answer(context, calling, answer)
            return answer
        after = placed(calling.attempt, upstream_id, self.shop.clock.now())
        await self.assign(context, goal, calling, replace(calling, attempt=after))
        return None

    async def _order(self, order: CreateOrder, deadline: datetime | None) -> str:
        """Send a create; where the cloud refuses the registry's id, again with what it stands for.

        A refusal made nothing, so that it is still one create. The credentials are kept nowhere.
        """
        try:
            return await self.shop.cloud.create(order, not_after=deadline)
        except Refused as refusal:
            auth_id = order.registry_auth_id
            if refusal.reason is not RefusalReason.REGISTRY or not auth_id:
                raise
            try:
                credentials = await self.shop.cloud.registry_credentials(auth_id, lane=Lane.USER)
            except Gone:
                raise refusal from None
        in_full = replace(order, registry_auth_id="", credentials=credentials)
        return await self.shop.cloud.create(in_full, not_after=deadline)

    async def assign(self, context: JobContext, goal: Goal, before: AttemptRow, after: AttemptRow) -> None:
        """Record an attempt that has an upstream, and give the upstream to its instance."""
        occasion = self.shop.occasion()

        def write(connection: Connection) -> None:
            if before != after and not swap_attempt(connection, before, after):
                return
            row = self.shop.recorder.lock(connection, goal.instance.id)
            edit = _assigned(row.instance, after, self.shop)
            self.shop.recorder.write(connection, row, edit, occasion)

        await context.write(write)

    async def take_over(self, context: JobContext, row: AttemptRow) -> None:
        """Treat an attempt that another owner left calling as one whose answer was lost."""
        attempt = taken_over(row.attempt, "", self.shop.clock.now())
        await self.swap(context, row, replace(row, attempt=attempt))

    async def withdraw(self, context: JobContext, row: AttemptRow) -> None:
        """End an attempt that was never sent and is not wanted any more."""
        await self.swap(context, row, replace(row, attempt=withdrawn(row.attempt)))

    async def swap(self, context: JobContext, before: AttemptRow, after: AttemptRow) -> bool:
        """Move an attempt; False when it was moved by somebody else."""
        return await context.write(lambda connection: swap_attempt(connection, before, after))

    async def _win(self, context: JobContext, goal: Goal, row: AttemptRow) -> AttemptRow | None:
        """Become the one who may send; None when it is not wanted any more, or somebody else's."""
        occasion = self.shop.occasion()
        owner = self.shop.ids.new(occasion.at)
        attempt = called(row.attempt, owner, occasion.at + SEND_WITHIN)
        calling = replace(row, attempt=attempt, called_at=occasion.at)

        def write(connection: Connection) -> bool:
            before = self.shop.recorder.lock(connection, goal.instance.id)
            if not _is_still_wanted(before.instance, goal):
                return False
            return swap_attempt(connection, row, calling)

        return calling if await context.write(write) else None

    async def _note_answer(self, context: JobContext, calling: AttemptRow, answer: Answered) -> None:
        attempt = answered(calling.attempt, answer.answer, self.shop.clock.now(), answer.detail)
        await self.swap(context, calling, replace(calling, attempt=attempt))


def _is_still_wanted(now: Instance, goal: Goal) -> bool:
    is_same = now.upstream_id == goal.instance.upstream_id and now.state is goal.instance.state
    return is_same and goal.is_wanted(now)


def _in_creating_phase(instance: Instance, phase: CreatingPhase) -> Instance:
    return in_phase(instance, phase) if instance.state is State.CREATING else instance


def _assigned(instance: Instance, row: AttemptRow, shop: Workshop) -> Edit:
    attempt, upstream_id = row.attempt, row.attempt.upstream_id
    assert upstream_id is not None, attempt
    at = shop.clock.now()
    placement = Placement(
        attempt.number,
        attempt.offer,
        row.region,
        row.product_name,
        attempt.price_per_hour,
        prepaid=row.prepaid,
    )
    details = {
        "attempt": attempt.number,
        "region": row.region,
        "productName": row.product_name,
        "pricePerHour": float(attempt.price_per_hour.amount),
    }
    if instance.upstream_id is None:
        change = placed_at_cloud(instance, upstream_id, at)
    elif is_recreation(instance):
        change = recreated(instance, upstream_id, at)
    else:
        return Edit(_surplus(instance, upstream_id))
    return Edit(change.asking(WorkKind.REFRESH), placement=placement, details=details)


def _surplus(instance: Instance, upstream_id: str) -> Change:
    """One that surfaced too late: it goes with a deleted instance; else the watcher judges the duplicate."""
    is_going = instance.state is State.TERMINATING and instance.predecessor_id is None
    if not is_going:
        return Change(instance)
    return Change(replace(instance, predecessor_id=upstream_id)).asking(WorkKind.CLEAR_PREDECESSOR)
