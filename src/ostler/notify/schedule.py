"""When a delivery is tried, tried again and given up, and which of a line goes first. Pure.

A *line* is all deliveries of one instance to one endpoint, in the order of the events. Only its head is
sent; a head that was not taken within a minute of its first attempt is *stuck* and lets the next one pass,
so that one bad minute of a receiver does not hold back news for days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ostler.store.webhook_leases import Candidate

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(hours=12)
PATIENCE = timedelta(days=3)  # from the first attempt, or from a replay
HOLD = timedelta(seconds=60)  # how long an untaken head keeps its line waiting
AT_ONCE_PER_ENDPOINT = 4


def wait_after(attempt: int, asked: timedelta | None = None) -> timedelta:
    """Return the wait after the n-th failed attempt of a round; a receiver may ask for a longer one."""
    doublings = min(attempt - 1, 20)  # far past the longest wait; keeps the number small
    own = min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)
    return own if asked is None else max(own, min(asked, LONGEST_WAIT))


def next_attempt(
    now: datetime, attempt: int, give_up_at: datetime, asked: timedelta | None
) -> datetime | None:
    """Return when to try again, or None when that would be too late."""
    then = now + wait_after(attempt, asked)
    return then if then <= give_up_at else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of the candidates of one endpoint: some are taken, some are not due before an instant."""

    take: tuple[int, ...]
    postpone: tuple[tuple[int, datetime], ...]


def chosen(candidates: Sequence[Candidate], free: int, now: datetime) -> Choice:
    """Take what may go, in the given order, as far as there is room; put off what its line holds back."""
    going = [each.id for each in candidates if may_go(each, now)]
    held = [(each.id, each.elder_holds_until or now + HOLD) for each in candidates if not may_go(each, now)]
    return Choice(tuple(going[: max(0, free)]), tuple(held))


def may_go(candidate: Candidate, now: datetime) -> bool:
    """Tell whether nothing before a delivery in its line has to go first.

    The nearest open one before it is enough to look at: that one was not tried while those before it held.
    """
    if candidate.was_tried or candidate.elder_id is None:
        return True
    return candidate.elder_holds_until is not None and candidate.elder_holds_until <= now
