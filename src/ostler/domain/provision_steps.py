"""What a create does next, decided from its whole history: the rule that keeps it at one paid instance.

Never a new attempt while one is calling, or ambiguous and not settled. The class of the last answer says
whether the next offer, the same one, or nobody can help. Nothing is done here; a job reads the step.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from ostler.domain.attempts import WITH_UPSTREAM, Answer, Attempt, AttemptState
from ostler.domain.catalogue import BillingMode
from ostler.domain.instance import Instance
from ostler.domain.offers import OfferKey
from ostler.domain.phases import CreatingPhase, Wanted

THROTTLES_FOR_QUOTA = 3


class Decision(StrEnum):
    """What the class of an answer asks for."""

    RECORD = "record"
    NEXT_CANDIDATE = "next candidate"
    NEXT_AND_REMEMBER_SOLD_OUT = "next candidate, remember that this one is sold out"
    SAME_CANDIDATE_LATER = "same candidate later"
    FAIL = "fail"
    LOOK_UP = "look up"


def classify(answer: Answer, throttled_in_a_row: int = 0, *, do_others_pass: bool = True) -> Decision:
    """Say what an answer asks for; `throttled_in_a_row` counts this one."""
    match answer:
        case Answer.PLACED:
            return Decision.RECORD
        case Answer.NO_CAPACITY:
            return Decision.NEXT_AND_REMEMBER_SOLD_OUT
        case Answer.REFUSED_HERE:
            return Decision.NEXT_CANDIDATE
        case Answer.REFUSED:
            return Decision.FAIL
        case Answer.THROTTLED:
            is_quota = throttled_in_a_row >= THROTTLES_FOR_QUOTA and do_others_pass
            return Decision.FAIL if is_quota else Decision.SAME_CANDIDATE_LATER
        case Answer.UNSENT:
            return Decision.SAME_CANDIDATE_LATER
        case Answer.LOST:
            return Decision.LOOK_UP
    assert_never(answer)


@dataclass(frozen=True, slots=True)
class Terms:
    """Under which conditions a create goes on."""

    is_wanted: bool = True  # False: nothing new is placed, what was sent is brought to its end
    billing_mode: BillingMode = BillingMode.SPOT
    do_others_pass: bool = True  # calls of other kinds, while ours are throttled
    may_repeat_offers: bool = False  # `retryUntilAvailable`: what was sold out may be asked again
    max_lost_per_offer: int = 3
    attempts_before: int = 0  # of earlier placements of the instance: a recreation counts on


@dataclass(frozen=True, slots=True)
class Have:
    """There is an upstream: record it, if that was not done."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AwaitAnswer:
    """A call is in flight; its owner answers for it, anybody else takes it over as ambiguous."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class LookUp:
    """An answer was lost: find the mark, or settle that it is absent."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class SendIntended:
    """An intent is written down and was never sent."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Withdraw:
    """An intent is written down, was never sent, and is no longer wanted."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Place:
    """Write down a new attempt at an offer; `is_later`: after the pause that the cloud asked for."""

    offer: OfferKey
    number: int
    is_later: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No other offer can mend what the last attempt met; None: no candidate is left."""

    because: Attempt | None


@dataclass(frozen=True, slots=True)
class NothingPlaced:
    """It is not wanted any more, and nothing of it is at the cloud."""


Step = Have | AwaitAnswer | LookUp | SendIntended | Withdraw | Place | GiveUp | NothingPlaced


def may_place(instance: Instance, history: Sequence[Attempt]) -> bool:
    """Tell whether another attempt may be made for a new instance.

    A stop of what is being placed at this moment leaves a stopped instance, which can be started. It calls
    the create off where that would rent something much later, or pay for a whole term, only to be stopped.
    """
    if instance.wanted is not Wanted.STOPPED:
        return instance.wanted is Wanted.RUNNING
    has_failed = any(attempt.state is not AttemptState.INTENDED for attempt in history)
    waits = instance.phase is CreatingPhase.WAITING_FOR_STOCK
    return not (has_failed or waits or instance.spec.billing_mode is BillingMode.MONTHLY)


def next_step(history: Sequence[Attempt], candidates: Sequence[OfferKey], terms: Terms) -> Step:
    """Say what a placement does next. `history` holds all attempts of this placement, oldest first."""
    unfinished = _unfinished(history, terms)
    if unfinished is not None:
        return unfinished
    if not terms.is_wanted:
        return NothingPlaced()
    return _another(history, candidates, terms)


def _unfinished(history: Sequence[Attempt], terms: Terms) -> Step | None:
    for attempt in history:
        if attempt.state is AttemptState.CALLING:
            return AwaitAnswer(attempt)
        if attempt.state is AttemptState.AMBIGUOUS:
            return LookUp(attempt)
    for attempt in history:
        if attempt.state in WITH_UPSTREAM:
            return Have(attempt)
    for attempt in history:
        if attempt.state is AttemptState.INTENDED:
            return SendIntended(attempt) if terms.is_wanted else Withdraw(attempt)
    return None


def _another(history: Sequence[Attempt], candidates: Sequence[OfferKey], terms: Terms) -> Step:
    number = max((attempt.number for attempt in history), default=terms.attempts_before) + 1
    last = history[-1] if history else None
    if last is not None and last.answer is not None:
        match _after(last.answer, history, terms):
            case Decision.FAIL:
                return GiveUp(last)
            case Decision.SAME_CANDIDATE_LATER if last.offer in candidates:
                return Place(last.offer, number, is_later=True)
            case _:
                pass
    exhausted = _exhausted(history, terms)
    offer = next((each for each in candidates if each not in exhausted), None)
    return GiveUp(None) if offer is None else Place(offer, number)


def _after(answer: Answer, history: Sequence[Attempt], terms: Terms) -> Decision:
    if answer is Answer.LOST:  # and settled to be absent
        is_prepaid = terms.billing_mode is BillingMode.MONTHLY
        return Decision.FAIL if is_prepaid else Decision.NEXT_CANDIDATE
    return classify(answer, _throttled_in_a_row(history), do_others_pass=terms.do_others_pass)


def _throttled_in_a_row(history: Sequence[Attempt]) -> int:
    count = 0
    for attempt in reversed(history):
        if attempt.answer is not Answer.THROTTLED:
            break
        count += 1
    return count


def _exhausted(history: Sequence[Attempt], terms: Terms) -> set[OfferKey]:
    lost = Counter(attempt.offer for attempt in history if attempt.answer is Answer.LOST)
    used_up = {offer for offer, count in lost.items() if count >= terms.max_lost_per_offer}
    no_more = {Answer.REFUSED_HERE} if terms.may_repeat_offers else {Answer.REFUSED_HERE, Answer.NO_CAPACITY}
    return used_up | {attempt.offer for attempt in history if attempt.answer in no_more}
