"""Why a create came to nothing, in words for its owner: from the attempt that decided it, or from all of
them.
"""

from collections.abc import Sequence
from datetime import datetime

from ostler.domain.attempts import Answer, Attempt
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.offers import LeftOut, LeftOutReason

_BY_ANSWER = {
    Answer.NO_CAPACITY: (
        FailureCode.RESOURCE_CONSTRAINTS,
        "every offer is sold out",
        "retryUntilAvailable waits for stock; regions widens the search",
    ),
    Answer.LOST: (
        FailureCode.NETWORK_ERROR,
        "the cloud's answer was lost, and nothing was found of it",
        "try again",
    ),
    Answer.THROTTLED: (
        FailureCode.RESOURCE_CONSTRAINTS,
        "the cloud refuses further creates: its quota is probably used up",
        "delete what is not needed, or ask the cloud for a larger quota",
    ),
}


def failure_of(
    because: Attempt | None, history: Sequence[Attempt], at: datetime, left_out: Sequence[LeftOut] = ()
) -> Failure:
    """Return the failure; `because` None: no candidate is left, for the reasons in `left_out`."""
    decisive = because or _last_telling(history)
    if decisive is None or decisive.answer is None:
        return Failure(
            FailureCode.NO_OPTIMAL_PRODUCT,
            "no offer is left that could be tried" + _reasons(left_out),
            at,
            "retryUntilAvailable waits for stock; regions widens the search",
        )
    if decisive.answer in _BY_ANSWER:
        code, message, hint = _BY_ANSWER[decisive.answer]
        return Failure(code, f"{message} ({decisive.detail})", at, hint)
    return Failure(FailureCode.REFUSED_BY_CLOUD, decisive.detail, at, "see the attempts for every answer")


def called_off(at: datetime) -> Failure:
    """Return why a create that its owner stopped ended: nothing of it was at the cloud yet."""
    return Failure(
        FailureCode.CREATE_CALLED_OFF,
        "it was stopped before it was placed; nothing of it is at the cloud, and nothing is billed",
        at,
        "create it anew when it is to run",
    )


def _reasons(left_out: Sequence[LeftOut]) -> str:
    """Return each asked region with what is against it, every reason once."""
    told = [each for each in left_out if each.reason is not LeftOutReason.NOT_ASKED_FOR]
    words = dict.fromkeys(f"{each.region}: {each.reason.value}" for each in told)
    return "".join(f"; {word}" for word in words)


def _last_telling(history: Sequence[Attempt]) -> Attempt | None:
    return next((each for each in reversed(history) if each.answer is not Answer.UNSENT), None)
