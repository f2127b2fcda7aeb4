"""An *attempt*: one try to create an instance at one offer, and why there are never two in flight.

`intended → calling → placed | refused | no_capacity | ambiguous → adopted | settled_absent`, one table. A
lost answer is never a failure: the attempt is *ambiguous* until its mark is found, or is settled to be
absent. What to do next is decided from the whole history by `provision_steps.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey

LOOKS_FOR_ABSENT = 3


class AttemptState(StrEnum):
    """Where an attempt is. Only `calling` and `ambiguous` may hide an upstream that nobody knows."""

    INTENDED = "intended"  # written down; nothing was sent
    CALLING = "calling"  # one owner may send it, until the deadline
    PLACED = "placed"  # the cloud answered with an upstream
    REFUSED = "refused"  # nothing was made
    NO_CAPACITY = "no_capacity"  # nothing was made: sold out
    AMBIGUOUS = "ambiguous"  # the answer was lost: it is looked up
    ADOPTED = "adopted"  # it was found by its mark
    SETTLED_ABSENT = "settled_absent"  # it was looked for long enough, or never sent


class AttemptEvent(StrEnum):
    """What moves an attempt."""

    CALL = "call"
    WITHDRAWN = "withdrawn"  # no longer wanted, and never sent
    PLACED = "placed"
    REFUSED = "refused"
    NO_CAPACITY = "no capacity"
    LOST = "answer lost"
    FOUND = "mark found"
    ABSENT = "settled absent"


ATTEMPT_ARROWS: Mapping[AttemptState, Mapping[AttemptEvent, AttemptState]] = {
    AttemptState.INTENDED: {
        AttemptEvent.CALL: AttemptState.CALLING,
        AttemptEvent.WITHDRAWN: AttemptState.SETTLED_ABSENT,
    },
    AttemptState.CALLING: {
        AttemptEvent.PLACED: AttemptState.PLACED,
        AttemptEvent.REFUSED: AttemptState.REFUSED,
        AttemptEvent.NO_CAPACITY: AttemptState.NO_CAPACITY,
        AttemptEvent.LOST: AttemptState.AMBIGUOUS,
    },
    AttemptState.AMBIGUOUS: {
        AttemptEvent.FOUND: AttemptState.ADOPTED,
        AttemptEvent.ABSENT: AttemptState.SETTLED_ABSENT,
    },
    # it surfaced after all, and its instance has nothing better
    AttemptState.SETTLED_ABSENT: {AttemptEvent.FOUND: AttemptState.ADOPTED},
    AttemptState.PLACED: {},
    AttemptState.REFUSED: {},
    AttemptState.NO_CAPACITY: {},
    AttemptState.ADOPTED: {},
}
OPEN_STATES = frozenset({AttemptState.INTENDED, AttemptState.CALLING, AttemptState.AMBIGUOUS})
WITH_UPSTREAM = frozenset({AttemptState.PLACED, AttemptState.ADOPTED})


class Answer(StrEnum):
    """The class of the cloud's answer to a create: all that is acted on."""

    PLACED = "placed"
    NO_CAPACITY = "no capacity"
    REFUSED_HERE = "refused here"  # another offer may do
    REFUSED = "refused"  # balance, quota, image, validation: no offer mends it
    THROTTLED = "throttled"  # not carried out; thrice in a row it may be a quota
    UNSENT = "unsent"  # provably never left us
    LOST = "lost"  # timeout, reset, 5xx, killed


_OF_ANSWER: Mapping[Answer, AttemptEvent] = {
    Answer.PLACED: AttemptEvent.PLACED,
    Answer.NO_CAPACITY: AttemptEvent.NO_CAPACITY,
    Answer.REFUSED_HERE: AttemptEvent.REFUSED,
    Answer.REFUSED: AttemptEvent.REFUSED,
    Answer.THROTTLED: AttemptEvent.REFUSED,
    Answer.UNSENT: AttemptEvent.REFUSED,
    Answer.LOST: AttemptEvent.LOST,
}


class NoAttemptArrowError(Exception):
    """An attempt was to be moved where no arrow leads: somebody else was faster, or a mistake of ours."""

    def __init__(self, state: AttemptState, event: AttemptEvent) -> None:
        super().__init__(f"no arrow leaves an attempt that is {state.value!r} by {event.value!r}")
        self.state = state
        self.event = event


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at one offer. Every change is written by compare-and-set on its state and owner."""

    instance_id: str
    number: int  # from 1; part of the mark
    upstream_name: str  # with the mark
    offer: OfferKey
    price_per_hour: Usd
    state: AttemptState = AttemptState.INTENDED
    owner: str | None = None  # who may send it
    deadline_at: datetime | None = None  # nothing is sent after it
    answer: Answer | None = None
    answered_at: datetime | None = None  # for a lost answer: when it was given up
    upstream_id: str | None = None
    detail: str = ""  # the cloud's reason, for people

    @property
    def was_sent(self) -> bool:
        """Whether a call of it may have left us."""
        return self.deadline_at is not None and self.answer is not Answer.UNSENT


@dataclass(frozen=True, slots=True)
class Look:
    """One successful listing, as far as one attempt is concerned."""

    began_at: datetime
    is_complete: bool
    shows_mark: bool


def called(attempt: Attempt, owner: str, deadline_at: datetime) -> Attempt:
    """Return the attempt in the hands of the one owner who may send it."""
    state = _next(attempt, AttemptEvent.CALL)
    return replace(attempt, state=state, owner=owner, deadline_at=deadline_at)


def may_send(attempt: Attempt, owner: str, now: datetime) -> bool:
    """Tell whether an owner may send the create now; to be asked just before sending."""
    is_owner = attempt.state is AttemptState.CALLING and attempt.owner == owner
    return is_owner and attempt.deadline_at is not None and now < attempt.deadline_at


def answered(attempt: Attempt, answer: Answer, at: datetime, detail: str = "") -> Attempt:
    """Return the attempt after an answer that made no upstream, or was lost."""
    state = _next(attempt, _OF_ANSWER[answer])
    return replace(attempt, state=state, answer=answer, answered_at=at, detail=detail)


def placed(attempt: Attempt, upstream_id: str, at: datetime) -> Attempt:
    """Return the attempt after the cloud answered with an upstream."""
    return replace(answered(attempt, Answer.PLACED, at), upstream_id=upstream_id)


def taken_over(attempt: Attempt, owner: str, at: datetime) -> Attempt:
    """Return the attempt as another owner must see it: what it finds `calling` counts as sent."""
    if attempt.state is AttemptState.CALLING and attempt.owner != owner:
        return answered(attempt, Answer.LOST, at, "its owner is gone")
    return attempt


def found(attempt: Attempt, upstream_id: str) -> Attempt:
    """Return the attempt whose mark was seen on an upstream."""
    return replace(attempt, state=_next(attempt, AttemptEvent.FOUND), upstream_id=upstream_id)


def withdrawn(attempt: Attempt) -> Attempt:
    """Return the attempt that is no longer wanted and was never sent."""
    return replace(attempt, state=_next(attempt, AttemptEvent.WITHDRAWN))


def settled_absent(attempt: Attempt) -> Attempt:
    """Return the attempt that was looked for long enough; see `is_settled_absent`."""
    return replace(attempt, state=_next(attempt, AttemptEvent.ABSENT))


def settles_at(attempt: Attempt, settle: timedelta) -> datetime | None:
    """Return from when on an attempt's absence can be concluded; None: it was never called."""
    instants = [at for at in (attempt.deadline_at, attempt.answered_at) if at is not None]
    return max(instants) + settle if instants else None


def is_settled_absent(attempt: Attempt, looks: Sequence[Look], settle: timedelta, now: datetime) -> bool:
    """Tell whether three complete looks begun after the deadline, the last after settling, prove absence."""
    settled = settles_at(attempt, settle)
    if attempt.state is not AttemptState.AMBIGUOUS or settled is None or attempt.deadline_at is None:
        return False
    if now < settled or any(look.shows_mark for look in looks):
        return False
    proofs = [look.began_at for look in looks if look.is_complete and look.began_at > attempt.deadline_at]
    return len(proofs) >= LOOKS_FOR_ABSENT and max(proofs) >= settled


def _next(attempt: Attempt, event: AttemptEvent) -> AttemptState:
    target = ATTEMPT_ARROWS[attempt.state].get(event)
    if target is None:
        raise NoAttemptArrowError(attempt.state, event)
    return target
