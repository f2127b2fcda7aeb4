"""One SQLite connection the way Ostler wants it: durable, checked, with a clock of its own.

`SqliteLink` is a driver connection with SQLAlchemy's face and the instant its transaction began.
Transactions begin when we say so (`BEGIN IMMEDIATE` for writing), never by the driver's guess. Called by
the writer and the readers.
"""

import sqlite3
from dataclasses import dataclass

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from ostler.clock import Clock
from ostler.store.database import StoreUnavailable, Trouble
from ostler.store.instants import SQLITE_NOW, microseconds
from ostler.store.sqlite_file import DATABASE

# The world's fault and not the statement's.
_TROUBLES = {
    sqlite3.SQLITE_BUSY: Trouble.LOCKED,
    sqlite3.SQLITE_LOCKED: Trouble.LOCKED,
    sqlite3.SQLITE_PROTOCOL: Trouble.LOCKED,
    sqlite3.SQLITE_FULL: Trouble.DISK_FULL,
    sqlite3.SQLITE_IOERR: Trouble.DISK_FAILING,
    sqlite3.SQLITE_CANTOPEN: Trouble.UNREACHABLE,
    sqlite3.SQLITE_NOMEM: Trouble.NO_ROOM,
    sqlite3.SQLITE_CORRUPT: Trouble.DAMAGED,
    sqlite3.SQLITE_NOTADB: Trouble.DAMAGED,
}
_PRIMARY_CODE = 0xFF  # the extended codes keep the primary one in their lowest byte


@dataclass(frozen=True, slots=True)
class SqliteSource:
    """Where the file is (a `file:` URI), whose clock is its, how long a lock is waited for."""

    uri: str
    clock: Clock
    busy_timeout_s: float = 5.0


class SqliteLink:
    """One connection, for one thread at a time; opened at once."""

    def __init__(self, source: SqliteSource, *, writes: bool) -> None:
        self._clock = source.clock
        self._began_us = 0
        self._engine = self._engine_of(source, writes=writes)
        try:
            self.connection = self._engine.connect()
        except DBAPIError as error:
            raise translated(error, writes=writes) from error

    def _engine_of(self, source: SqliteSource, *, writes: bool) -> Engine:
        def connect() -> sqlite3.Connection:
            driver = sqlite3.connect(
                source.uri,
                uri=True,
                timeout=source.busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            for pragma in _pragmas(writes=writes):
                driver.execute(pragma).close()
            # The same at every call of one statement, so that SQLite asks once and can use an index.
            driver.create_function(SQLITE_NOW, 0, lambda: self._began_us, deterministic=True)
            return driver

        engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
        begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return engine

    def mark_beginning(self) -> None:
        """Let `database_now()` be this instant, as PostgreSQL's `now()` is the beginning of a transaction."""
        self._began_us = microseconds(self._clock.now())

    @property
    def is_in_transaction(self) -> bool:
        """Whether SQLite still has our transaction; a full disk may have ended it without asking."""
        driver = self.connection.connection.driver_connection
        return isinstance(driver, sqlite3.Connection) and driver.in_transaction

    def close(self) -> None:
        self.connection.close()
        self._engine.dispose()


def _pragmas(*, writes: bool) -> tuple[str, ...]:
    shared = (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",  # a commit that was answered is on the disk
        "PRAGMA fullfsync = ON",  # macOS: past the drive's own cache, too
        "PRAGMA foreign_keys = ON",
        "PRAGMA journal_size_limit = 67108864",
        "PRAGMA cache_size = -8192",
    )
    return shared if writes else (*shared, "PRAGMA query_only = ON")


def translated(error: BaseException, *, writes: bool) -> BaseException:
    """Return what the caller shall see in place of `error`; only a writer can find the disk read-only."""
    if not isinstance(error, DBAPIError):
        return error
    code: object = getattr(error.orig, "sqlite_errorcode", None)
    primary = code & _PRIMARY_CODE if isinstance(code, int) else None
    if writes and primary == sqlite3.SQLITE_READONLY:
        return StoreUnavailable(DATABASE, Trouble.READ_ONLY, str(error.orig))
    if primary in _TROUBLES:
        return StoreUnavailable(DATABASE, _TROUBLES[primary], str(error.orig))
    return error
