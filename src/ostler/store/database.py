"""The Database port: transactions for code on the event loop, run in threads.

`write` and `read` take a function of a `Connection` and run it in ONE transaction elsewhere. That function
may run more than once (a deadlock, a group that could not be committed): it touches the connection and
nothing else, and leaves effects to `on_commit`. Errors: `StoreUnavailable` when the database is away, which
heals by itself; else SQLAlchemy's own (`IntegrityError`…). Implementations: `sqlite.py`, `postgres.py`, and
`inline.py` for virtual time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import URL, Connection, make_url

from ostler.store.signals import Signals
from ostler.store.stamps import Stamps

T = TypeVar("T")


class Database(Protocol):
    """What the rest of Ostler needs of a database."""

    @property
    def is_exclusive(self) -> bool:
        """Whether no other process can use this database, so that leases found at start are dead."""
        ...

    @property
    def stamps(self) -> Stamps | None:
        """Which rows are as they were; None where other processes write, too."""
        ...

    @property
    def signals(self) -> Signals:
        """Where to listen for topics announced by transactions of this and of other processes."""
        ...

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one durable transaction; cancelling the caller leaves all of it or nothing."""
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot; it cannot write."""
        ...

    async def close(self) -> None:
        """Finish what has been asked, then let go of threads, connections and locks."""
        ...


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """Where the database is and how much of it to use."""

    url: str  # sqlite:////absolute/path or postgresql://…
    readers: int = 4
    writers: int = 8  # PostgreSQL; SQLite has one by nature
    busy_timeout_s: float = 5.0  # SQLite: how long another program's lock is waited for
    connect_timeout_s: float = 5.0  # PostgreSQL

    @property
    def parsed_url(self) -> URL:
        """The address with our driver in it, whichever of the usual spellings it came in."""
        scheme, separator, rest = self.url.partition("://")
        if scheme in {"postgres", "postgresql"}:
            scheme = "postgresql+psycopg"
        return make_url(f"{scheme}{separator}{rest}")


class Trouble(StrEnum):
    """Why a database cannot answer, in words that anybody may read: no address, no name, no statement."""

    UNREACHABLE = "it cannot be reached"
    RESTARTING = "it is starting, stopping or too slow"
    READ_ONLY = "it cannot be written to"
    LOCKED = "another program has locked it"
    DISK_FULL = "its disk is full"
    DISK_FAILING = "its disk cannot be read or written"
    NO_ROOM = "it has no memory or no connection left"
    LOST_RACES = "it is too busy"
    REMOVED = "its file was moved or removed: put it back, or restore a backup"
    REPLACED = "another file stands where its own was: put its own back, or restart to use the other"
    DAMAGED = "it is damaged: restore a backup"
    CLOSED = "it has been closed"


class StoreUnavailable(Exception):  # noqa: N818 -- says what is so; it heals by itself
    """The database cannot answer now: down, locked, full, closed. Nothing committed was lost.

    When the connection broke during the commit itself, the transaction may yet be committed: the rows tell.
    Only damage does not heal by itself; it too is waited out, for nothing else could be done.
    """

    def __init__(self, database: str, trouble: Trouble, seen: str = "") -> None:
        words = " ".join(seen.split())  # drivers add lines of advice
        super().__init__(f"{database} is not available: {trouble}" + (f" ({words})" if words else ""))
        self.database = database
        self.trouble = trouble


class DirectoryInUse(Exception):  # noqa: N818 -- says what is so
    """Another process has locked the directory of this SQLite database."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(
            f"{path} is in use by {holder}. One process at a time can use SQLite there: stop the other, "
            "choose another OSTLER_DATA_DIR, or use PostgreSQL (OSTLER_DATABASE_URL) for several."
        )
        self.path = path
        self.holder = holder


class UnknownDatabase(Exception):  # noqa: N818 -- says what is so
    """The URL names a database that Ostler has no driver for."""

    def __init__(self, scheme: str) -> None:
        super().__init__(f"{scheme!r} is no database that Ostler knows: use sqlite:///… or postgresql://…")
        self.scheme = scheme


class DatabaseUnusable(Exception):  # noqa: N818 -- says what is so
    """What the URL names cannot be opened, and waiting does not help: no database, no permission."""

    def __init__(self, seen: str) -> None:
        super().__init__(f"the database cannot be used: {seen}; see OSTLER_DATABASE_URL and OSTLER_DATA_DIR")
        self.seen = seen


class SchemaTooNew(Exception):  # noqa: N818 -- says what is so
    """The database was written by a newer version of Ostler."""

    def __init__(self, found: str, newest_known: str) -> None:
        super().__init__(
            f"the database is at revision {found}, but this version of Ostler knows only those up to "
            f"{newest_known}: install the newer version again, or restore a backup made before the upgrade."
        )
        self.found = found
        self.newest_known = newest_known
