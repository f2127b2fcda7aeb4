"""What the cloud answered to a create, as the class that is acted on: pure.

The one place where a refusal of the port becomes an `Answer` of the domain. Everything but Ambiguous is
certain to have made nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ostler.cloud.refusals import (
    Ambiguous,
    CircuitOpen,
    CloudRefusal,
    Gone,
    NoCapacity,
    RateLimited,
    Refused,
    TooLate,
    Unavailable,
)
from ostler.domain.attempts import Answer

_PAUSE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Answered:
    """The class of an answer, the cloud's words, and how long to wait before asking again."""

    answer: Answer
    detail: str
    pause: timedelta = _PAUSE


def answered_by(refusal: CloudRefusal, now: datetime) -> Answered:
    """Return what a refusal of a create means."""
    said = str(refusal)
    match refusal:
        case Ambiguous():
            return Answered(Answer.LOST, said)
        case NoCapacity():
            return Answered(Answer.NO_CAPACITY, said)
        case Refused(reason=reason):
            return Answered(Answer.REFUSED_HERE if reason.may_another_offer_help else Answer.REFUSED, said)
        case Gone():  # the product or cluster: the catalogue was out of date
            return Answered(Answer.REFUSED_HERE, said)
        case RateLimited(retry_after_s=seconds):
            pause = _PAUSE if seconds is None else max(_PAUSE, timedelta(seconds=seconds))
            return Answered(Answer.THROTTLED, said, pause)
        case CircuitOpen(next_try_at=at):
            return Answered(Answer.UNSENT, said, max(_PAUSE, at - now))
        case Unavailable() | TooLate():
            return Answered(Answer.UNSENT, said)
        case _:
            return Answered(Answer.REFUSED, said)
