"""How a circuit breaker is shown: in `/health` and in `/api/metrics`, in the same words.

One model for both, so that what a monitor has learnt from the one it can read in the other.
"""

from ostler.api.model import Answer, Instant
from ostler.cloud.breaker import BreakerSnapshot, BreakerState


class BreakerAnswer(Answer):
    """One circuit breaker."""

    state: BreakerState
    failures_in_a_row: int
    times_opened: int
    calls_refused: int
    next_try_at: Instant | None


def breaker_answer(seen: BreakerSnapshot) -> BreakerAnswer:
    return BreakerAnswer(
        state=seen.state,
        failures_in_a_row=seen.failures_in_a_row,
        times_opened=seen.times_opened,
        calls_refused=seen.calls_refused,
        next_try_at=seen.next_try_at,
    )
