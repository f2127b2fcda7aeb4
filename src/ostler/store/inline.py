"""A database in memory that answers on the event loop itself: for tests and simulations in virtual time.

The *twin* of the real ones: the same SQL on the same SQLite, without threads, files or flushes, so that a
virtual clock sees every instant and a run repeats exactly. Never for a server: it blocks the event loop.
`InlineStorage` outlives the process that is pretended to die; each such process has an `InlineDatabase` on
it.
"""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ostler.clock import Clock
from ostler.store.database import StoreUnavailable, Trouble
from ostler.store.schema import metadata
from ostler.store.signals import Signals, begin_aftermath
from ostler.store.sqlite_connection import SqliteLink, SqliteSource, translated
from ostler.store.tables import TABLES

T = TypeVar("T")
DATABASE = "the database in memory"


class InlineStorage:
    """The rows, as they would be on a disk; `is_away` makes every transaction fail."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_away = False
        self.databases: list[InlineDatabase] = []
        self.link = SqliteLink(SqliteSource("file::memory:", clock), writes=True)
        with self.link.connection.begin():
            metadata.create_all(self.link.connection, tables=TABLES)

    def close(self) -> None:
        self.link.close()


class InlineDatabase:
    """One pretended process's database; its transactions begin after a turn of the event loop."""

    stamps = None

    def __init__(self, storage: InlineStorage, *, is_exclusive: bool = False) -> None:
        self.signals = Signals()
        self.is_exclusive = is_exclusive
        self._storage = storage
        storage.databases.append(self)

    async def write(self, work: Callable[[Connection], T]) -> T:
        await self._storage.clock.sleep(0)
        link = self._link()
        try:
            with link.connection.begin():
                aftermath = begin_aftermath(link.connection)
                result = work(link.connection)
        except DBAPIError as error:
            raise translated(error, writes=True) from error
        self.signals.deliver(aftermath)
        for other in self._storage.databases:
            if other is not self:
                other.signals.fire(aftermath.topics)
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        await self._storage.clock.sleep(0)
        link = self._link()
        with link.connection.begin() as transaction:
            result = work(link.connection)
            transaction.rollback()
        return result

    async def close(self) -> None:
        if self in self._storage.databases:
            self._storage.databases.remove(self)

    def _link(self) -> SqliteLink:
        if self._storage.is_away or self not in self._storage.databases:
            raise StoreUnavailable(DATABASE, Trouble.UNREACHABLE)
        self._storage.link.mark_beginning()
        return self._storage.link
