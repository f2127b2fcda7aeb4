"""The table of the watcher's state: one row, by which every process knows what the watcher knows.

Whose key is trusted, whether anything is suspect, what the last pass found, and which passes were asked
for. Who watches may change at any time; this stays. Written by the watcher, by who asks for a pass, and by
who confirms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Integer,
    SmallInteger,
    String,
    Table,
    select,
    update,
)

from ostler.store.encoded import Encoded
from ostler.store.inserting import inserting
from ostler.store.instants import MICROSECOND, Instant
from ostler.store.schema import metadata
from ostler.store.signals import announce

TOPIC = "watch"  # announced whenever the row was written
ASKED_TOPIC = "watch.asked"  # announced when somebody waits for a pass


class Suspicion(StrEnum):
    """Why nothing is concluded from what is absent."""

    OTHER_ACCOUNT = "other account"  # the key has changed, and nothing that we know was seen with it
    LOSS = "loss"  # one pass missed too much of the fleet at once


@dataclass(frozen=True, slots=True)
class PassFacts:
    """One pass that came to its end."""

    began_at: datetime
    took: timedelta
    interval: timedelta | None  # since the one before began, in the same hands
    pages: int
    upstreams: int
    rows: int  # living ones that it was compared with
    is_complete: bool
    missing: tuple[str, ...] = ()  # upstreams of living rows that it did not show


@dataclass(frozen=True, slots=True)
class WatchState:
    """The row."""

    key_digest: str | None = None  # of the key whose account is ours; None: not known yet
    suspicion: Suspicion | None = None
    suspect_count: int = 0  # how many upstreams the suspicious pass missed
    confirmed_count: int = 0  # how many of those a person says are really gone
    asked: int = 0  # the number of the last pass that was asked for
    served: int = 0  # the number of the last one that was answered
    last_pass: PassFacts | None = None
    confirmed_at: datetime | None = None  # when the last pass began from which absence could be concluded
    failures: int = 0  # passes in a row that came to nothing
    error: str = ""  # of the last of them


watch_state = Table(
    "watch_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("key_digest", String, nullable=True),
    Column("suspicion", String, nullable=True),
    Column("suspect_count", Integer, nullable=False),
    Column("confirmed_count", Integer, nullable=False),
    Column("asked", BigInteger, nullable=False),
    Column("served", BigInteger, nullable=False),
    Column("began_at", Instant, nullable=True),
    Column("took_us", BigInteger, nullable=True),
    Column("interval_us", BigInteger, nullable=True),
    Column("pages", Integer, nullable=False),
    Column("upstreams", Integer, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    Column("missing", Encoded(tuple[str, ...]), nullable=False),
    Column("confirmed_at", Instant, nullable=True),
    Column("failures", Integer, nullable=False),
    Column("error", String, nullable=False),
    CheckConstraint("id = 1", name="is_one"),
)

_NOTHING: Mapping[str, object] = {
    "id": 1,
    "suspect_count": 0,
    "confirmed_count": 0,
    "asked": 0,
    "served": 0,
    "pages": 0,
    "upstreams": 0,
    "rows": 0,
    "is_complete": False,
    "missing": (),
    "failures": 0,
    "error": "",
}


def read_watch_state(connection: Connection) -> WatchState:
    """Return what is known; all is new where nothing was written yet."""
    found = connection.execute(select(watch_state)).mappings().first()
    if found is None:
        return WatchState()
    interval_us = found["interval_us"]
    last_pass = None
    if found["began_at"] is not None:
        last_pass = PassFacts(
            began_at=found["began_at"],
            took=found["took_us"] * MICROSECOND,
            interval=None if interval_us is None else interval_us * MICROSECOND,
            pages=found["pages"],
            upstreams=found["upstreams"],
            rows=found["rows"],
            is_complete=found["is_complete"],
            missing=found["missing"],
        )
    plain = ("key_digest", "suspect_count", "confirmed_count", "asked", "served", "confirmed_at")
    return WatchState(
        **{name: found[name] for name in (*plain, "failures", "error")},
        suspicion=None if found["suspicion"] is None else Suspicion(found["suspicion"]),
        last_pass=last_pass,
    )


def keep_pass(connection: Connection, facts: PassFacts, served: int, *, is_conclusive: bool) -> None:
    """Write what a pass was; `is_conclusive`: what it did not show was really absent."""
    values: dict[str, object] = {
        "served": served,
        "began_at": facts.began_at,
        "took_us": facts.took // MICROSECOND,
        "interval_us": None if facts.interval is None else facts.interval // MICROSECOND,
        "pages": facts.pages,
        "upstreams": facts.upstreams,
        "rows": facts.rows,
        "is_complete": facts.is_complete,
        "failures": 0,
        "error": "",
    }
    if is_conclusive:
        values |= {"missing": facts.missing, "confirmed_at": facts.began_at}
    _write(connection, values)


def keep_failure(connection: Connection, failures: int, error: str) -> None:
    """Write that a pass came to nothing."""
    _write(connection, {"failures": failures, "error": error})


def trust_key(connection: Connection, key_digest: str) -> None:
    """From now on take the account of a key for ours."""
    _write(connection, {"key_digest": key_digest, **_CALM})


def suspect(connection: Connection, suspicion: Suspicion, count: int) -> None:
    """From now on conclude nothing."""
    _write(connection, {"suspicion": suspicion.value, "suspect_count": count, "confirmed_count": 0})


def confirm_loss(connection: Connection, count: int) -> None:
    """Let the next pass believe that so many are really gone."""
    _write(connection, {"confirmed_count": count})


def be_calm(connection: Connection) -> None:
    """Conclude again."""
    _write(connection, _CALM)


def ask_for_pass(connection: Connection) -> int:
    """Ask for a pass that begins from now on; return its number."""
    _make(connection)
    statement = update(watch_state).values(asked=watch_state.c.asked + 1).returning(watch_state.c.asked)
    number: int = connection.execute(statement).scalar_one()
    announce(connection, ASKED_TOPIC)
    return number


_CALM: Mapping[str, object] = {"suspicion": None, "suspect_count": 0, "confirmed_count": 0}


def _write(connection: Connection, values: Mapping[str, object]) -> None:
    statement = update(watch_state).values(**values)
    if connection.execute(statement).rowcount == 0:
        _make(connection)
        connection.execute(statement)
    announce(connection, TOPIC)


def _make(connection: Connection) -> None:
    connection.execute(
        inserting(connection.dialect.name)(watch_state).values(**_NOTHING).on_conflict_do_nothing()
    )
