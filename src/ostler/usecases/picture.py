"""The last whole *picture* of the account: a pass of the watcher from which absence could be concluded.

What a pass found as its row says is confirmed by it without a write; this value says what that dates. It is
equal for whoever knows of the same pass. Made by whoever follows the watcher, read by all who show ages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Picture:
    """When it was taken, and the upstreams of living rows that it did not show."""

    taken_at: datetime | None = None  # None: there is none yet
    missing: frozenset[str] = frozenset()

    def observed_at(
        self, upstream_id: str | None, placed_at: datetime | None, *looked_at: datetime | None
    ) -> datetime | None:
        """Return when the cloud last confirmed a row: by a look at it, or by the picture."""
        is_covered = self.taken_at is not None and placed_at is not None and placed_at < self.taken_at
        shown_at = self.taken_at if is_covered and upstream_id not in self.missing else None
        return max((at for at in (*looked_at, shown_at) if at is not None), default=None)


STALE_AFTER = timedelta(seconds=30)  # what was confirmed longer ago is to be confirmed anew
PictureNow = Callable[[], Picture]  # the last one that this process knows of


def no_picture() -> Picture:
    """Return what is known where nobody watches."""
    return Picture()
