"""The rows seen as caches: `instanceStates` and `instanceDetails`, with how old what they show is.

Rows are the truth and not copies of it, so there is nothing here to forget: what is old is looked at anew by
itself. A *state* is what lists show of a living instance, its *details* what a look in full has shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.store.database import Database
from ostler.store.revisions import Part, read_revision
from ostler.store.row_ages import RowAge, row_ages
from ostler.usecases.lookups import Lookups
from ostler.usecases.picture import STALE_AFTER, Picture, PictureNow
from ostler.usecases.reading import Reading

STATES = "instanceStates"
DETAILS = "instanceDetails"
ROW_VIEWS = (STATES, DETAILS)
_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class ViewStats:
    """What can be seen of the rows as a cache."""

    size: int
    lookups: Lookups
    sets: int  # how often any was written, by all processes ever
    oldest: timedelta | None  # the age of what was seen longest ago
    fresh: int  # how many were seen within the last 30 seconds


class RowViews:
    """Tells how the rows do as caches."""

    def __init__(self, database: Database, reading: Reading, picture: PictureNow, clock: Clock) -> None:
        self._database = database
        self._reading = reading
        self._picture = picture
        self._clock = clock

    async def stats(self) -> Mapping[str, ViewStats]:
        """Return what can be seen of each view now."""
        picture = self._picture()

        def work(connection: Connection) -> tuple[Sequence[RowAge], int, int]:
            states = read_revision(connection, [Part.INSTANCES])
            return row_ages(connection), states, read_revision(connection, [Part.LOOKS])

        rows, states, details = await self._database.read(work)
        looked_at = [row for row in rows if row.looked_at is not None]
        return {
            STATES: self._stats(rows, states, self._reading.list_lookups, picture),
            DETAILS: self._stats(looked_at, details, self._reading.details_lookups, picture),
        }

    def _stats(self, rows: Sequence[RowAge], sets: int, lookups: Lookups, picture: Picture) -> ViewStats:
        now = self._clock.now()
        ages = [now - at for at in (_seen_at(row, picture) for row in rows) if at is not None]
        return ViewStats(
            size=len(rows),
            lookups=lookups,
            sets=sets,
            oldest=max(*ages, _NO_TIME) if ages else None,
            fresh=sum(age < STALE_AFTER for age in ages),
        )


def _seen_at(row: RowAge, picture: Picture) -> datetime | None:
    return picture.observed_at(row.upstream_id, row.placed_at, row.observed_at, row.looked_at)
