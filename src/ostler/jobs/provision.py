"""Placing: from an accepted request to exactly one upstream, or to the reason why there is none.

Each round reads the row and its attempts and takes the one step that `domain/provision_steps.py` names.
So it does not matter where the last run was stopped: an intent is sent, a call that nobody answers for is
looked up, what was found is recorded. The body of `create_instance`, and of migrations that recreate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from sqlalchemy import Connection

from ostler.cloud.catalogue import ANYBODY, Reader
from ostler.cloud.lane import Lane
from ostler.cloud.refusals import CloudRefusal
from ostler.domain.attempts import Answer, Attempt
from ostler.domain.deadlines import has_waited_enough
from ostler.domain.errors import AskedWrongly
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Change, Instance, in_phase
from ostler.domain.lifecycle import State
from ostler.domain.offers import LeftOut, offer_key
from ostler.domain.outcomes import migration_failed, not_placed
from ostler.domain.phases import CreatingPhase
from ostler.domain.provision_steps import (
    THROTTLES_FOR_QUOTA,
    AwaitAnswer,
    GiveUp,
    Have,
    LookUp,
    NothingPlaced,
    Place,
    SendIntended,
    Step,
    Withdraw,
    next_step,
)
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Retry, Wait
from ostler.jobs.adopting import Adoption
from ostler.jobs.attempting import Attempts
from ostler.jobs.goals import Goal, Purpose, goal_of, terms_of
from ostler.jobs.ordering import OrderImpossible, Orders
from ostler.jobs.verdicts import called_off, failure_of
from ostler.jobs.workshop import Workshop
from ostler.store.attempts import attempts_of
from ostler.store.instances import find_instance
from ostler.usecases.market import CatalogueUnknown
from ostler.usecases.planning import Planner, Prospect

_STOCK_LOOK = timedelta(seconds=30)
# past the cache, but shared by all who wait for the same shelves
_WAITING_FOR_STOCK = Reader(Lane.BACKGROUND, max_age_s=_STOCK_LOOK.total_seconds())


@dataclass(frozen=True, slots=True)
class Provision:
    """Places instances."""

    shop: Workshop
    planner: Planner
    orders: Orders
    attempts: Attempts
    adoption: Adoption

    async def __call__(self, context: JobContext) -> Outcome:
        while (
            goal := await context.database.read(lambda connection: _goal(connection, context.subject))
        ) is not None:
            outcome = await self._advance(context, goal)
            if outcome is not None:
                return outcome
        return Done()

    async def _advance(self, context: JobContext, goal: Goal) -> Outcome | None:
        """Take one step; None: read again and go on."""
        try:
            step, prospect = await self._next(goal)
            return await self._take(context, goal, step, prospect)
        except CatalogueUnknown as error:
            return Retry(str(error), timedelta(seconds=error.retry_after_s))
        except OrderImpossible as error:
            return await self._fail(context, goal, error.failure)

    async def _next(self, goal: Goal) -> tuple[Step, Prospect | None]:
        """Return the next step; the market is only read where an offer has to be chosen."""
        terms = terms_of(goal, do_others_pass=await self._do_others_pass(goal))
        step = next_step(goal.history, (), terms)
        if step != GiveUp(None):
            return step, None
        prospect = await self._prospect(goal)
        candidates = [offer_key(offer) for offer in prospect.plan.candidates]
        return next_step(goal.history, candidates, terms), prospect

    async def _take(
        self, context: JobContext, goal: Goal, step: Step, prospect: Prospect | None
    ) -> Outcome | None:
        match step:
            case Place(key):
                assert prospect is not None, "an offer is only chosen from a prospect"
                offer = next(each for each in prospect.plan.candidates if offer_key(each) == key)
                await self.attempts.intend(context, goal, offer)
            case SendIntended(attempt):
                return await self._send(context, goal, attempt)
            case LookUp(attempt):
                return await self.adoption.look_up(context, goal, goal.row_of(attempt))
            case GiveUp(because):
                left_out = () if prospect is None else prospect.plan.left_out
                return await self._give_up(context, goal, because, left_out)
            case NothingPlaced():
                return await self._fail(context, goal, called_off(self.shop.clock.now()))
            case AwaitAnswer() | Withdraw() | Have():
                await self._tidy(context, goal, step)
            case _:
                assert_never(step)
        return None

    async def _tidy(self, context: JobContext, goal: Goal, step: AwaitAnswer | Withdraw | Have) -> None:
        """Write down what is so without asking the cloud."""
        row = goal.row_of(step.attempt)
        match step:
            case AwaitAnswer():  # its owner is gone, for this run holds the lease
                await self.attempts.take_over(context, row)
            case Withdraw():
                await self.attempts.withdraw(context, row)
            case Have():
                await self.attempts.assign(context, goal, row, row)

    async def _send(self, context: JobContext, goal: Goal, attempt: Attempt) -> Outcome | None:
        row = goal.row_of(attempt)
        try:
            prospect = await self._prospect(goal)
            order = await self.orders.write(context, goal.row, attempt, prospect)
        except OrderImpossible:
            await self.attempts.withdraw(context, row)
            raise
        answer = await self.attempts.call(context, goal, row, order)
        is_to_pause = answer is not None and answer.answer in {Answer.THROTTLED, Answer.UNSENT}
        return Wait(answer.pause) if answer is not None and is_to_pause else None

    async def _prospect(self, goal: Goal) -> Prospect:
        """Return what could be done now; a request that has become wrong cannot be ordered."""
        try:
            return await self.planner.prospect(goal.instance.spec, _reader(goal.instance))
        except AskedWrongly as error:
            failure = Failure(FailureCode.TEMPLATE_INVALID, str(error), self.shop.clock.now(), error.hint)
            raise OrderImpossible(failure) from error

    async def _give_up(
        self, context: JobContext, goal: Goal, because: Attempt | None, left_out: Sequence[LeftOut]
    ) -> Outcome:
        instance, now = goal.instance, self.shop.clock.now()
        spec = instance.spec
        may_wait = because is None and spec.retry_until_available
        if may_wait and not has_waited_enough(instance.created_at, spec.give_up_after, now):
            await self.shop.apply(context, _waiting_for_stock)
            return Wait(_STOCK_LOOK)
        return await self._fail(context, goal, failure_of(because, goal.history, now, left_out))

    async def _fail(self, context: JobContext, goal: Goal, failure: Failure) -> Outcome:
        def step(instance: Instance) -> Change:
            match goal.purpose:
                case Purpose.PLACE:
                    return not_placed(instance, failure)
                case Purpose.RECREATE:
                    return migration_failed(instance, failure)
                case Purpose.CLOSE:
                    return Change(instance)

        await self.shop.apply(context, step)
        return Done()

    async def _do_others_pass(self, goal: Goal) -> bool:
        """After three throttled creates in a row, see whether the account is throttled, or creates alone."""
        last = [attempt.answer for attempt in goal.history[-THROTTLES_FOR_QUOTA:]]
        if last != [Answer.THROTTLED] * THROTTLES_FOR_QUOTA:
            return True
        try:
            await self.shop.cloud.balance(lane=Lane.BACKGROUND)
        except CloudRefusal:
            return False
        return True


def _goal(connection: Connection, instance_id: str) -> Goal | None:
    row = find_instance(connection, instance_id)
    return None if row is None else goal_of(row, attempts_of(connection, instance_id))


def _reader(instance: Instance) -> Reader:
    return _WAITING_FOR_STOCK if instance.phase is CreatingPhase.WAITING_FOR_STOCK else ANYBODY


def _waiting_for_stock(instance: Instance) -> Change:
    if instance.state is not State.CREATING:
        return Change(instance)
    return Change(in_phase(instance, CreatingPhase.WAITING_FOR_STOCK))
