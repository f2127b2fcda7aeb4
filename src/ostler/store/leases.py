"""The table of named leases: who leads what, until when, for which time.

A *leader* does work of which there must be one in a cluster (the watcher). Its lease has an epoch that
grows with each new holder; what the leader writes is conditional on it. All instants are the database's.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    String,
    Table,
    bindparam,
    literal,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningInsert

from ostler.store.inserting import inserting
from ostler.store.instants import MICROSECOND, Instant, database_now, database_now_plus
from ostler.store.schema import metadata

leases = Table(
    "leases",
    metadata,
    Column("name", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("until", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Leadership:
    """The right to lead `name` under this epoch."""

    name: str
    owner: str
    epoch: int


def acquire(connection: Connection, name: str, owner: str, term: timedelta) -> Leadership | None:
    """Take the lease if it is free; None when somebody holds it."""
    values = {"name": name, "owner": owner, "term_us": term // MICROSECOND}
    epoch = connection.execute(_acquiring(connection.dialect.name), values).scalar()
    return None if epoch is None else Leadership(name, owner, epoch)


@cache
def _acquiring(dialect: str) -> ReturningInsert[int]:
    new = inserting(dialect)(leases).values(
        epoch=1, until=database_now_plus(bindparam("term_us", type_=BigInteger))
    )
    return new.on_conflict_do_update(
        index_elements=["name"],
        set_={"owner": new.excluded.owner, "epoch": leases.c.epoch + 1, "until": new.excluded.until},
        where=leases.c.until <= database_now(),
    ).returning(leases.c.epoch)


def prolong(connection: Connection, held: Leadership, term: timedelta) -> bool:
    """Extend a lease from now; False when it is another's by now."""
    statement = update(leases).where(*_held(held)).values(until=database_now_plus(term))
    return connection.execute(statement).rowcount > 0


def release(connection: Connection, held: Leadership) -> None:
    """Let others have the lease at once; nothing when it is another's by now."""
    connection.execute(update(leases).where(*_held(held)).values(until=database_now()))


def release_all(connection: Connection) -> None:
    """Free every lease: the caller knows that no other process can be alive."""
    connection.execute(update(leases).values(until=database_now()))


def is_leading(connection: Connection, held: Leadership) -> bool:
    """Tell whether the lease is still this holder's, and keep it so until the end of this transaction."""
    query = select(literal(1)).select_from(leases).where(*_held(held)).with_for_update(read=True)
    return connection.execute(query).first() is not None


def _held(held: Leadership) -> tuple[ColumnElement[bool], ...]:
    return (leases.c.name == held.name, leases.c.owner == held.owner, leases.c.epoch == held.epoch)
