"""The state file: the world as rows of a SQLite file, so that a killed simulator goes on where it was.

Changed rows are written in one transaction before the answer is sent. WAL without a sync per commit is
enough: a killed process loses nothing that it has written; only a crash of the machine could.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from ostler.simulator.world import Change

_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA locking_mode = EXCLUSIVE;
CREATE TABLE IF NOT EXISTS thing (
  kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (kind, id)
);
CREATE TABLE IF NOT EXISTS instant (
  one INTEGER PRIMARY KEY CHECK (one = 1), world REAL, wall REAL, speed REAL
);
"""
_TABLES = {"thing", "instant"}
_WAY_OUT = "move it away to begin with a new world"
_PUT = """
INSERT INTO thing (kind, id, body) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body
"""
_PUT_INSTANT = """
INSERT INTO instant (one, world, wall, speed) VALUES (1, ?, ?, ?)
ON CONFLICT (one) DO UPDATE SET world = excluded.world, wall = excluded.wall, speed = excluded.speed
"""


@dataclass(frozen=True, slots=True)
class SavedTime:
    """How late it was when the file was last written, and how fast the world's time ran then."""

    world: float
    wall: float
    speed: float

    def at(self, wall: float) -> float:
        """Return the world's time at a later real one: while nobody runs the world, its time goes on."""
        return self.world + max(0.0, wall - self.wall) * self.speed


class StateFileUnusable(Exception):  # noqa: N818 -- reads as what it is
    """The file cannot be had; the message says why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot use the state file {path}: {reason}")


class StateFile:
    """One open state file; it belongs to one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self.reading():
            self._connection = _opened(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say of a file that cannot be read, or not understood, why that is; for the time of the start."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StateFileUnusable(self._path, _reason(error)) from error
        except ValidationError as error:
            reason = f"what it keeps of {error.title} is damaged; {_WAY_OUT}"
            raise StateFileUnusable(self._path, reason) from error

    def rows(self) -> Iterator[Change]:
        """Yield all things in the order in which they were first saved."""
        for kind, key, body in self._connection.execute("SELECT kind, id, body FROM thing ORDER BY rowid"):
            yield Change(kind, key, body)

    def time(self) -> SavedTime | None:
        """Return when the file was last written; None for a new one."""
        found = self._connection.execute("SELECT world, wall, speed FROM instant").fetchone()
        return None if found is None else SavedTime(*found)

    def save(self, changes: Iterable[Change], time: SavedTime) -> None:
        """Write what changed, all or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                if change.body is None:
                    self._connection.execute(
                        "DELETE FROM thing WHERE kind = ? AND id = ?", (change.kind, change.id)
                    )
                else:
                    self._connection.execute(_PUT, (change.kind, change.id, change.body))
            self._connection.execute(_PUT_INSTANT, (time.world, time.wall, time.speed))
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # some errors have ended it already
                self._connection.execute("ROLLBACK")
            raise

    def clear(self) -> None:
        """Forget everything."""
        self._connection.execute("DELETE FROM thing")
        self._connection.execute("DELETE FROM instant")


def _reason(error: sqlite3.DatabaseError) -> str:
    match error.sqlite_errorcode:
        case sqlite3.SQLITE_BUSY:
            return "another process uses it"
        case sqlite3.SQLITE_CANTOPEN:  # a folder is not made: a slip is more likely than a wish
            return "its folder is not there, or not open to us"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
            return f"{error}; {_WAY_OUT}"
        case _:
            return str(error)


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=1.0, check_same_thread=False)
    try:
        _check_ours(connection, path)
        connection.executescript(_SCHEMA)
        _add_speed(connection)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
    except (sqlite3.DatabaseError, StateFileUnusable):
        connection.close()
        raise
    return connection


def _add_speed(connection: sqlite3.Connection) -> None:
    """Let a file of a version that did not keep the speed be one that was written at real speed."""
    columns = {name for (_, name, *_) in connection.execute("PRAGMA table_info(instant)")}
    if "speed" not in columns:
        connection.execute("ALTER TABLE instant ADD COLUMN speed REAL DEFAULT 1.0")


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables <= _TABLES:
        raise StateFileUnusable(path, reason="it is the database of something else")
