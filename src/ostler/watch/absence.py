"""What is missing: how often each upstream was not seen, and from when on that means something.

Kept in memory by whoever watches: another one begins to count anew, which only makes it slower to conclude.
Nothing at all is concluded from a pass that misses too much at once.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from ostler.domain.lifecycle import State
from ostler.domain.sightings import (
    NOT_FOUND_APART,
    PRESENT,
    Absence,
    is_gone,
    is_suspicious_loss,
    missed_by_get,
    missed_by_pass,
)
from ostler.store.instants import microseconds
from ostler.store.watch_rows import WatchRow

_TERMINATING = State.TERMINATING.value


class Absences:
    """Counts."""

    def __init__(self) -> None:
        self._absent: dict[str, Absence] = {}

    def of(self, upstream_id: str) -> Absence:
        """Return how often an upstream was missed since it was last seen."""
        return self._absent.get(upstream_id, PRESENT)

    def passed(self, missing: Collection[str]) -> None:
        """Count a complete pass: what it missed was missed once more, all else is there, or not ours."""
        self._absent = {upstream_id: missed_by_pass(self.of(upstream_id)) for upstream_id in missing}

    def seen(self, upstream_ids: Iterable[str]) -> None:
        """Forget that these were missed."""
        for upstream_id in upstream_ids:
            self._absent.pop(upstream_id, None)

    def not_found(self, upstream_id: str, requested_at: datetime) -> None:
        """Count a GET that was answered with "not found"; two that are too near count as one."""
        absence = self.of(upstream_id)
        if absence.last_not_found_at is None or requested_at - absence.last_not_found_at >= NOT_FOUND_APART:
            self._absent[upstream_id] = missed_by_get(absence, requested_at)

    def is_to_be_asked(self, upstream_id: str, now: datetime) -> bool:
        """Tell whether another GET would say anything new."""
        last = self.of(upstream_id).last_not_found_at
        return last is None or now - last >= NOT_FOUND_APART

    def is_gone(self, upstream_id: str, placed_at: datetime, settle: timedelta, now: datetime) -> bool:
        """Tell whether an upstream was missed often enough."""
        return is_gone(self.of(upstream_id), placed_at, settle, now)


def missing_rows(absent: Sequence[WatchRow], settled_before: datetime) -> list[WatchRow]:
    """Return the rows whose upstream should have been seen: what was just placed may not be listed yet."""
    before_us = microseconds(settled_before)
    return [row for row in absent if row.placed_at_us is None or row.placed_at_us < before_us]


def newly_lost(missing: Iterable[WatchRow], missing_before: Collection[str]) -> int:
    """Return how many were there in the pass before, without a delete of ours since."""
    return sum(row.upstream_id not in missing_before and row.state != _TERMINATING for row in missing)


def is_too_much(lost: int, confirmed: int, rows: Iterable[WatchRow]) -> bool:
    """Tell whether a pass lost so many that it is not believed; so many a person has confirmed already."""
    fleet = sum(row.upstream_id is not None and row.state != _TERMINATING for row in rows)
    return is_suspicious_loss(lost - confirmed, fleet)
