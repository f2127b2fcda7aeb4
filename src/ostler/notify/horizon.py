"""How far the event log may be read: to the *horizon*, the last id before which nothing can still appear.

PostgreSQL gives out ids before transactions commit, so an event may come to light after younger ones. The
ids given out so far belong to transactions that have ended or are writing now; once those that were
writing have ended, all these ids are settled: each is an event that can be seen, or will never be one.
SQLite's one writer commits in order, so there everything visible is settled.
"""

from collections import deque
from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.store.database import Database
from ostler.store.event_writers import event_writers
from ostler.store.events import first_kept_id, last_id_given

_MOST_MARKS = 256


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the log is settled, and how far ids have been given out."""

    settled_id: int
    given_id: int

    @property
    def is_behind(self) -> bool:
        """Whether something may come to light without another signal."""
        return self.settled_id < self.given_id


@dataclass(frozen=True, slots=True)
class Mark:
    """All ids up to `given_id` were given to transactions that have ended, or to these."""

    given_id: int
    writers: frozenset[str]


class Horizon:
    """Follows how far the log is settled. One per process; not for several tasks at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._marks: deque[Mark] = deque()
        self._settled_id = 0

    async def look(self) -> Extent:
        """Return how far the log is settled now; it never goes back."""
        return self.note(await self._database.read(_mark))

    def note(self, now: Mark) -> Extent:
        """Take in how far ids have been given out and who is writing now; return how far that settles."""
        if now.given_id > (self._marks[-1].given_id if self._marks else self._settled_id):
            self._marks.append(now)
        if len(self._marks) > _MOST_MARKS:  # somebody writes for long: fewer steps, the same end
            del self._marks[-2]
        while self._marks and self._marks[0].writers.isdisjoint(now.writers):
            self._settled_id = self._marks.popleft().given_id
        return Extent(self._settled_id, self._marks[-1].given_id if self._marks else self._settled_id)


def _mark(connection: Connection) -> Mark:
    # in this order: whoever has taken one of these ids is among the writers, or has ended
    given_id = _last_id_given(connection)
    return Mark(given_id, event_writers(connection))


def _last_id_given(connection: Connection) -> int:
    given_id = last_id_given(connection)
    # PostgreSQL says 1 of a sequence that has given out nothing, too
    return given_id if given_id > 1 else first_kept_id(connection)
