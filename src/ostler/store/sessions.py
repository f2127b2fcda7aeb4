"""The table of sessions: which browsers are signed in, and with which key. Only digests are kept.

It names its key and is worth nothing without it; that one is gone or expired is seen by whoever reads both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, LargeBinary, String, Table, delete, insert, select

from ostler.store.api_keys import TOPIC
from ostler.store.instants import Instant
from ostler.store.revisions import Part, note_change
from ostler.store.schema import metadata
from ostler.store.signals import announce

MOST_PER_KEY = 50  # the oldest are signed out, so that no key fills the table

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("key_id", String, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("ends_at", Instant, nullable=False),
    Index("ix_sessions_key_id", "key_id", "opened_at"),
)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A browser that is signed in."""

    digest: bytes
    key_id: str
    opened_at: datetime
    ends_at: datetime


def open_session(connection: Connection, row: SessionRow) -> None:
    """Write a new session; forget those whose time is over, and the oldest of too many."""
    connection.execute(delete(sessions).where(sessions.c.ends_at <= row.opened_at))
    newest = (
        select(sessions.c.digest)
        .where(sessions.c.key_id == row.key_id)
        .order_by(sessions.c.opened_at.desc())
        .limit(MOST_PER_KEY - 1)
    )
    too_many = sessions.c.digest.not_in(newest)
    connection.execute(delete(sessions).where(sessions.c.key_id == row.key_id, too_many))
    connection.execute(
        insert(sessions).values(
            digest=row.digest, key_id=row.key_id, opened_at=row.opened_at, ends_at=row.ends_at
        )
    )
    _tell(connection, row.key_id)


def close_session(connection: Connection, digest: bytes) -> None:
    """Sign a browser out."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest))
    _tell(connection, digest.hex())


def close_sessions_of(connection: Connection, key_id: str) -> None:
    """Sign out every browser that was signed in with a key."""
    connection.execute(delete(sessions).where(sessions.c.key_id == key_id))
    _tell(connection, key_id)


def living_sessions(connection: Connection, now: datetime) -> Mapping[bytes, SessionRow]:
    """Return the sessions whose time is not over, by their digests."""
    query = select(sessions).where(sessions.c.ends_at > now)
    found = [SessionRow(*row) for row in connection.execute(query)]
    return {row.digest: row for row in found}


def _tell(connection: Connection, subject: str) -> None:
    note_change(connection, Part.KEYS, subject)
    announce(connection, TOPIC)
