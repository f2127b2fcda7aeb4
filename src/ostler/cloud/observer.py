"""What is told of every call to the cloud, and to whom: metrics implement it, tests listen to it.

Calls are single HTTP calls: one operation that was retried twice is told three times.
"""

from enum import StrEnum
from typing import Protocol

from ostler.cloud.lane import Lane


class Outcome(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"  # below 400
    REFUSED = "refused"  # 4xx but 429
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"  # no answer or 5xx; nothing was changed
    AMBIGUOUS = "ambiguous"  # the same for a write that may have happened
    CIRCUIT_OPEN = "circuit_open"  # not sent
    TOO_LATE = "too_late"  # not sent
    CANCELLED = "cancelled"


class CallObserver(Protocol):
    """Hears of calls as they end."""

    def record_call(
        self, operation: str, lane: Lane, outcome: Outcome, seconds: float, waited: float
    ) -> None:
        """Hear of one call: how it ended, how long it took, how long it queued before."""
        ...

    def record_retry(self, operation: str) -> None:
        """Hear that an operation will be tried again."""
        ...


class NobodyObserves:
    """A CallObserver that does not listen."""

    def record_call(
        self, operation: str, lane: Lane, outcome: Outcome, seconds: float, waited: float
    ) -> None:
        """Forget it."""

    def record_retry(self, operation: str) -> None:
        """Forget it."""
