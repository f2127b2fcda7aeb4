"""The table of the ledger: for how long each instance was billed for what, and how well that is known.

At most one interval per upstream is open. Opening and closing happen in the transaction of the transition;
afterwards an interval is corrected by a new row that takes its place (`replaces`), never rewritten.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    RowMapping,
    String,
    Table,
    bindparam,
    insert,
    select,
    text,
    update,
)

from ostler.domain.ledger import Interval, IntervalSource, IntervalState
from ostler.domain.money import Usd
from ostler.store.instants import MICROSECOND, Instant
from ostler.store.schema import Key, metadata
from ostler.store.signals import touch

_IS_OPEN = text("to_at IS NULL")

ledger = Table(
    "ledger",
    metadata,
    Column("id", Key, primary_key=True),
    Column("instance_id", String, ForeignKey("instances.id"), nullable=False),
    Column("upstream_id", String, nullable=False),
    Column("state", String, nullable=False),
    Column("price_units_per_hour", BigInteger, nullable=False),
    Column("from_at", Instant, nullable=False),
    Column("to_at", Instant, nullable=True),
    Column("source", String, nullable=False),
    Column("uncertainty_us", BigInteger, nullable=False),
    Column("replaces", BigInteger, nullable=True, unique=True),
    Column("amount_units", BigInteger, nullable=True),  # paid at once
    Index("uq_ledger_open", "upstream_id", unique=True, sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN),
    Index("ix_ledger_instance", "instance_id", "from_at"),
    Index("ix_ledger_to_at", "to_at"),
)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """An interval, of which upstream, and which row it stands in place of. `id` is 0 until it is written."""

    interval: Interval
    upstream_id: str
    replaces: int | None = None
    id: int = 0


def open_interval(connection: Connection, upstream_id: str, interval: Interval) -> None:
    """Begin an interval; a second open one of the same upstream is refused by the index."""
    connection.execute(insert(ledger), _values(LedgerRow(interval, upstream_id)))


def add_interval(connection: Connection, upstream_id: str, interval: Interval) -> None:
    """Write an interval that is over."""
    assert interval.to_at is not None, interval
    open_interval(connection, upstream_id, interval)


def close_interval(connection: Connection, row: LedgerRow, to_at: datetime) -> None:
    """End an open interval, never before it began."""
    values = {"wanted_id": row.id, "to_at": max(to_at, row.interval.from_at)}
    connection.execute(_CLOSE, values)


def open_intervals(connection: Connection, instance_id: str) -> Sequence[LedgerRow]:
    """Return the intervals of an instance that go on: one per upstream that is not over."""
    return [
        _row(found) for found in connection.execute(_OPEN_OF, {"wanted_instance": instance_id}).mappings()
    ]


def correct_interval(connection: Connection, old: LedgerRow, corrected: Interval) -> None:
    """Write an ended interval as it really was, in place of what was believed."""
    connection.execute(insert(ledger), _values(replace(old, interval=corrected, replaces=old.id)))
    touch(connection, corrected.instance_id)


def intervals_of(connection: Connection, instance_ids: Sequence[str]) -> Sequence[LedgerRow]:
    """Return the intervals that count of some instances, in order of time: no row that was replaced."""
    return [
        _row(found)
        for found in connection.execute(_COUNTING_OF, {"wanted_instances": list(instance_ids)}).mappings()
    ]


def intervals_between(connection: Connection, since: datetime, until: datetime) -> Sequence[LedgerRow]:
    """Return the intervals that count and touch a stretch of time."""
    touches = (ledger.c.from_at < until) & (ledger.c.to_at.is_(None) | (ledger.c.to_at > since))
    query = _COUNTING.where(touches)
    return [_row(found) for found in connection.execute(query).mappings()]


_CLOSE = (
    update(ledger)
    .where(ledger.c.id == bindparam("wanted_id"), ledger.c.to_at.is_(None))
    .values(to_at=bindparam("to_at"))
)
_OPEN_OF = select(ledger).where(
    ledger.c.instance_id == bindparam("wanted_instance"), ledger.c.to_at.is_(None)
)


_NEWER = ledger.alias("newer")
_COUNTING = (
    select(ledger)
    .where(~select(_NEWER.c.id).where(_NEWER.c.replaces == ledger.c.id).exists())
    .order_by(ledger.c.from_at, ledger.c.id)
)
_COUNTING_OF = _COUNTING.where(ledger.c.instance_id.in_(bindparam("wanted_instances", expanding=True)))


def _row(found: RowMapping) -> LedgerRow:
    interval = Interval(
        instance_id=found["instance_id"],
        state=IntervalState(found["state"]),
        price_per_hour=Usd(found["price_units_per_hour"]),
        from_at=found["from_at"],
        to_at=found["to_at"],
        source=IntervalSource(found["source"]),
        uncertainty=found["uncertainty_us"] * MICROSECOND,
        amount=None if found["amount_units"] is None else Usd(found["amount_units"]),
    )
    return LedgerRow(interval, found["upstream_id"], found["replaces"], found["id"])


def _values(row: LedgerRow) -> dict[str, object]:
    interval = row.interval
    return {
        "instance_id": interval.instance_id,
        "upstream_id": row.upstream_id,
        "state": interval.state.value,
        "price_units_per_hour": interval.price_per_hour.units,
        "from_at": interval.from_at,
        "to_at": interval.to_at,
        "source": interval.source.value,
        "uncertainty_us": interval.uncertainty // MICROSECOND,
        "replaces": row.replaces,
        "amount_units": None if interval.amount is None else interval.amount.units,
    }
