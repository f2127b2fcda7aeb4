"""Deadlines: when a start is late, when it is expected to be over, and when waiting for stock ends.

The startup clock runs from placement (or from the command of a later start). While the image is still being
pulled its end only warns, until three times the limit.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median

from ostler.domain.phases import Phase, StartingPhase

USUAL_START = timedelta(minutes=4)
STARTS_FOR_A_MEDIAN = 5
PULLING_FACTOR = 3


class StartupClock(StrEnum):
    """What the startup clock shows."""

    RUNNING = "running"
    LATE = "late"  # a warning: the image is still being pulled
    OVER = "over"


def startup_clock(began_at: datetime, limit: timedelta, phase: Phase | None, now: datetime) -> StartupClock:
    """Say whether a start is late, or over."""
    elapsed = now - began_at
    if elapsed < limit:
        return StartupClock.RUNNING
    is_pulling = phase is StartingPhase.PULLING
    return StartupClock.LATE if is_pulling and elapsed < limit * PULLING_FACTOR else StartupClock.OVER


def estimated_ready_at(now: datetime, last_starts: Sequence[timedelta]) -> datetime:
    """Return when a start is expected to be usable, from the product's last starts, newest last."""
    if len(last_starts) < STARTS_FOR_A_MEDIAN:
        return now + USUAL_START
    return now + timedelta(seconds=median(start.total_seconds() for start in last_starts))


def has_waited_enough(accepted_at: datetime, give_up_after: timedelta, now: datetime) -> bool:
    """Tell whether a create that waits for stock gives up."""
    return now - accepted_at >= give_up_after
