"""The table of events: an append-only log. What was written is never changed.

The global id only grows, also when old rows are thinned; `sequence` counts the events of one instance
without a gap. An event that is about no instance (the account, a stranger) has no sequence. On PostgreSQL
ids are given out before transactions commit, so a reader must not pass an id whose elder may still
appear: `last_id_given` and `transactions` are for the one reader that follows the log,
`notify/horizon.py`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    RowMapping,
    String,
    Table,
    delete,
    func,
    insert,
    select,
    text,
)

from ostler.domain.events import PublicEvent
from ostler.store.encoded import Encoded
from ostler.store.instants import MICROSECOND, Instant
from ostler.store.schema import Key, metadata

TOPIC = "events"  # announced with every event

events = Table(
    "events",
    metadata,
    Column("id", Key, primary_key=True),
    Column("instance_id", String, nullable=True),
    Column("sequence", BigInteger, nullable=True),
    Column("project", String, nullable=True),
    Column("name", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("from_state", String, nullable=True),
    Column("to_state", String, nullable=True),
    Column("reason", String, nullable=False),
    Column("is_alarm", Boolean, nullable=False),
    Column("actor", String, nullable=False),  # the key's name, or a part of ours
    Column("operation_id", String, nullable=True),
    Column("elapsed_us", BigInteger, nullable=True),
    Column("details", Encoded(dict[str, object]), nullable=False),
    Index("uq_events_instance", "instance_id", "sequence", unique=True),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event as it is told. `id` is the store's: 0 until it is written."""

    name: PublicEvent
    at: datetime
    instance_id: str | None = None
    sequence: int | None = None
    project: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    reason: str = ""
    is_alarm: bool = False
    actor: str = "ostler"
    operation_id: str | None = None
    elapsed: timedelta | None = None  # since the operation, or else the instance, began
    details: Mapping[str, object] = field(default_factory=dict)
    id: int = 0


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events of the log: those after an id, up to one, of an instance or project, of these names."""

    after_id: int = 0
    up_to_id: int | None = None
    instance_id: str | None = None
    project: str | None = None
    names: Collection[PublicEvent] = ()
    limit: int = 100


def append_event(connection: Connection, event: EventRow) -> int:
    """Write an event at the end of the log; return its id."""
    event_id: int = connection.execute(_APPEND, _values(event)).scalar_one()
    return event_id


def read_events(connection: Connection, wanted: EventFilter) -> Sequence[EventRow]:
    """Return events in the order of the log."""
    query = select(events).where(events.c.id > wanted.after_id).order_by(events.c.id).limit(wanted.limit)
    if wanted.up_to_id is not None:
        query = query.where(events.c.id <= wanted.up_to_id)
    if wanted.instance_id is not None:
        query = query.where(events.c.instance_id == wanted.instance_id)
    if wanted.project is not None:
        query = query.where(events.c.project == wanted.project)
    if wanted.names:
        query = query.where(events.c.name.in_([name.value for name in wanted.names]))
    return [event_row(found) for found in connection.execute(query).mappings()]


def time_line(
    connection: Connection, instance_id: str, after: int = 0, limit: int = 500
) -> Sequence[EventRow]:
    """Return the events of one instance in their own order, after a number of its own."""
    query = (
        select(events)
        .where(events.c.instance_id == instance_id, events.c.sequence > after)
        .order_by(events.c.sequence)
        .limit(limit)
    )
    return [event_row(found) for found in connection.execute(query).mappings()]


def find_event(connection: Connection, event_id: int) -> EventRow | None:
    """Return one event, or None."""
    found = connection.execute(select(events).where(events.c.id == event_id)).mappings().first()
    return None if found is None else event_row(found)


def last_event(connection: Connection, instance_id: str, name: PublicEvent) -> EventRow | None:
    """Return the last event of this name in an instance's time line."""
    query = (
        select(events)
        .where(events.c.instance_id == instance_id, events.c.name == name.value)
        .order_by(events.c.sequence.desc())
        .limit(1)
    )
    found = connection.execute(query).mappings().first()
    return None if found is None else event_row(found)


def was_told(
    connection: Connection, instance_id: str, name: PublicEvent, details: Mapping[str, object]
) -> bool:
    """Tell whether an instance's time line has an event of this name with these details."""
    query = select(events).where(events.c.instance_id == instance_id, events.c.name == name.value)
    found = map(event_row, connection.execute(query).mappings())
    return any(details.items() <= each.details.items() for each in found)


def first_kept_id(connection: Connection) -> int:
    """Return the id of the oldest event that was not thinned; 0 when there is none."""
    return connection.execute(select(func.min(events.c.id))).scalar() or 0


def delete_events(connection: Connection, before: datetime, limit: int) -> int:
    """Thin the log's beginning; return how many went. The log of an instance keeps its numbers."""
    old = select(events.c.id).where(events.c.at < before).order_by(events.c.id).limit(limit)
    return connection.execute(delete(events).where(events.c.id.in_(old))).rowcount


def last_id_given(connection: Connection) -> int:
    """Return the highest id that anybody may have written or be writing."""
    if connection.dialect.name == "postgresql":
        given: int = connection.execute(text("SELECT last_value FROM events_id_seq")).scalar_one()
        return given
    return connection.execute(select(func.max(events.c.id))).scalar() or 0


@dataclass(frozen=True, slots=True)
class Transactions:
    """Which transactions may still commit: all below `oldest` have ended, `next_one` had not begun."""

    oldest: int
    next_one: int


def transactions(connection: Connection) -> Transactions | None:
    """Return which writers are under way now; None on SQLite, whose one writer commits in order."""
    if connection.dialect.name != "postgresql":
        return None
    query = text(
        "SELECT pg_snapshot_xmin(snapshot)::text::bigint, pg_snapshot_xmax(snapshot)::text::bigint "
        "FROM pg_current_snapshot() AS snapshot"
    )
    return Transactions(*connection.execute(query).one())


def event_row(found: RowMapping) -> EventRow:
    """Return the event of a row of all columns."""
    elapsed_us = found["elapsed_us"]
    return EventRow(
        id=found["id"],
        instance_id=found["instance_id"],
        sequence=found["sequence"],
        project=found["project"],
        name=PublicEvent(found["name"]),
        at=found["at"],
        from_state=found["from_state"],
        to_state=found["to_state"],
        reason=found["reason"],
        is_alarm=found["is_alarm"],
        actor=found["actor"],
        operation_id=found["operation_id"],
        elapsed=None if elapsed_us is None else elapsed_us * MICROSECOND,
        details=found["details"],
    )


_APPEND = insert(events).returning(events.c.id)


def _values(event: EventRow) -> dict[str, object]:
    return {
        "instance_id": event.instance_id,
        "sequence": event.sequence,
        "project": event.project,
        "name": event.name.value,
        "at": event.at,
        "from_state": event.from_state,
        "to_state": event.to_state,
        "reason": event.reason,
        "is_alarm": event.is_alarm,
        "actor": event.actor,
        "operation_id": event.operation_id,
        "elapsed_us": None if event.elapsed is None else event.elapsed // MICROSECOND,
        "details": dict(event.details),
    }
