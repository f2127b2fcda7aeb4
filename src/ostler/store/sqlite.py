"""SQLite behind the Database port: one writer thread with group commit, several readers on snapshots.

The file is in WAL mode, so readers and the writer do not wait for one another, and `synchronous=FULL`, so
an answered write survives the loss of power. The directory is locked against other processes from `open` to
`close`.
"""

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ostler.clock import Clock
from ostler.store.database import DatabaseConfig, StoreUnavailable, Trouble
from ostler.store.directory_lock import DirectoryLock
from ostler.store.migrate import migrate_sqlite
from ostler.store.signals import Signals
from ostler.store.sqlite_connection import SqliteLink, SqliteSource, translated
from ostler.store.sqlite_file import DATABASE, OpenFile
from ostler.store.sqlite_writer import Order, SqliteWriter
from ostler.store.stamps import Stamps

T = TypeVar("T")


class SqliteDatabase:
    """An open database file. Made by `open_sqlite`."""

    is_exclusive = True

    def __init__(self, source: SqliteSource, file: OpenFile, lock: DirectoryLock, readers: int) -> None:
        self.signals = Signals()
        self._lock = lock
        self.stamps = Stamps()
        self._writer = SqliteWriter(source, file, self.signals, self.stamps)
        self._readers = ThreadPoolExecutor(readers, "sqlite-reader")
        self._links = [SqliteLink(source, writes=False) for _ in range(readers)]
        self._idle: queue.LifoQueue[SqliteLink] = queue.LifoQueue()  # as many as threads: none ever waits
        for link in self._links:
            self._idle.put(link)
        self._is_closed = False
        self._writer.start()

    async def write(self, work: Callable[[Connection], T]) -> T:
        self._refuse_if_closed()
        loop = asyncio.get_running_loop()
        order = Order(work, loop, loop.create_future())
        self._writer.submit(order)
        return cast("T", await order.future)

    async def read(self, work: Callable[[Connection], T]) -> T:
        self._refuse_if_closed()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._readers.shutdown(wait=True)
        for link in self._links:
            link.close()
        self._writer.close()
        self._lock.release()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(DATABASE, Trouble.CLOSED)

    def _read(self, work: Callable[[Connection], T]) -> T:
        link = self._idle.get()
        try:
            link.mark_beginning()
            with link.connection.begin() as transaction:
                result = work(link.connection)
                transaction.rollback()
        except DBAPIError as error:
            raise translated(error, writes=False) from error
        finally:
            self._idle.put(link)
        return result


def open_sqlite(config: DatabaseConfig, clock: Clock) -> SqliteDatabase:
    """Lock, migrate and open the file, making it and its directory when new; blocks."""
    path = Path(config.parsed_url.database or "").absolute()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = DirectoryLock(path.parent)
    try:
        source = SqliteSource(path.as_uri(), clock, config.busy_timeout_s)
        migrate_sqlite(source)
        return SqliteDatabase(source, OpenFile(path), lock, config.readers)
    except BaseException:
        lock.release()
        raise
