"""The table of catalogue snapshots: what was for sale when the cloud was last asked, as text.

A *snapshot* is one answer of the cloud's catalogue under a key (`products/…`, `templates/…`), kept so that a
restart or an outage does not stop accepting. What the text means is the catalogue's business; under keys that
begin with `SEALED_KEYS` it is sealed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Column, Connection, String, Table, Text, delete, select

from ostler.store.inserting import Inserting, inserting
from ostler.store.instants import Instant
from ostler.store.schema import metadata

SEALED_KEYS = "template/"

catalogue_snapshots = Table(
    "catalogue_snapshots",
    metadata,
    Column("key", String, primary_key=True),
    Column("content", Text, nullable=False),
    Column("taken_at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One answer and when it was given."""

    key: str
    content: str
    taken_at: datetime


def put_snapshot(connection: Connection, snapshot: Snapshot) -> None:
    """Keep an answer in place of the one before; an older one changes nothing."""
    values = {"key": snapshot.key, "content": snapshot.content, "taken_at": snapshot.taken_at}
    connection.execute(_putting(connection.dialect.name), values)


def find_snapshot(connection: Connection, key: str) -> Snapshot | None:
    """Return the last answer kept under a key."""
    row = connection.execute(select(catalogue_snapshots).where(catalogue_snapshots.c.key == key)).first()
    return None if row is None else Snapshot(row.key, row.content, row.taken_at)


def all_snapshots(connection: Connection) -> Sequence[Snapshot]:
    """Return everything that is kept, for a start without a cloud."""
    query = select(catalogue_snapshots).order_by(catalogue_snapshots.c.key)
    return [Snapshot(row.key, row.content, row.taken_at) for row in connection.execute(query)]


def delete_snapshots(connection: Connection, before: datetime) -> int:
    """Forget answers that are too old to be believed; return how many."""
    statement = delete(catalogue_snapshots).where(catalogue_snapshots.c.taken_at < before)
    return connection.execute(statement).rowcount


@cache
def _putting(dialect: str) -> Inserting:
    new = inserting(dialect)(catalogue_snapshots)
    return new.on_conflict_do_update(
        index_elements=["key"],
        set_={"content": new.excluded.content, "taken_at": new.excluded.taken_at},
        where=catalogue_snapshots.c.taken_at <= new.excluded.taken_at,
    )
