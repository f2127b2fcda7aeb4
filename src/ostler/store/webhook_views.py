"""What people see of the deliveries, and what they may do to them: list, count, replay, cancel; the clean-up.

Called by the use cases for endpoints and deliveries and by the views over all background work.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, null, select, update
from sqlalchemy import RowMapping as Row

from ostler.store.instants import Instant, database_now, database_now_plus
from ostler.store.signals import announce
from ostler.store.webhook_deliveries import TOPIC, Attempt, DeliveryStatus, webhook_deliveries

LAST_ID = 2**63 - 1  # no row has a greater one, and no database takes it as a parameter


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery as people see it."""

    id: int
    endpoint_id: str
    message_id: str
    event: str
    event_id: int | None
    instance_id: str | None
    sequence: int | None
    project: str | None
    status: DeliveryStatus
    next_attempt_at: datetime | None
    attempts: int
    log: tuple[Attempt, ...]
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries to list, newest first; `before_id` continues after the last one of a page."""

    endpoint_id: str | None = None
    instance_id: str | None = None
    project: str | None = None
    statuses: Collection[DeliveryStatus] | None = None
    event: str | None = None
    before_id: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class DeliveryCount:
    """How many deliveries are in a status, and since when the first of them is due."""

    status: DeliveryStatus
    count: int
    oldest_at: datetime  # when the oldest of them was told
    oldest_due_at: datetime | None


def find_delivery(connection: Connection, delivery_id: int) -> DeliveryView | None:
    """Return one delivery, or None."""
    found = (
        connection.execute(select(*_SHOWN).where(webhook_deliveries.c.id == delivery_id)).mappings().first()
    )
    return None if found is None else _view(found)


def find_body(connection: Connection, delivery_id: int) -> str | None:
    """Return what a delivery carries."""
    query = select(webhook_deliveries.c.body).where(webhook_deliveries.c.id == delivery_id)
    return connection.execute(query).scalar()


def list_deliveries(connection: Connection, wanted: DeliveryFilter) -> Sequence[DeliveryView]:
    """Return a page of deliveries, newest first."""
    columns = webhook_deliveries.c
    pairs: tuple[tuple[ColumnElement[str | None], str | None], ...] = (
        (columns.endpoint_id, wanted.endpoint_id),
        (columns.instance_id, wanted.instance_id),
        (columns.project, wanted.project),
        (columns.event, wanted.event),
    )
    query = select(*_SHOWN).where(*(column == value for column, value in pairs if value is not None))
    if wanted.statuses is not None:
        query = query.where(columns.status.in_([status.value for status in wanted.statuses]))
    if wanted.before_id is not None:
        query = query.where(columns.id < min(wanted.before_id, LAST_ID))
    query = query.order_by(columns.id.desc()).limit(wanted.limit)
    return [_view(found) for found in connection.execute(query).mappings()]


def count_deliveries(connection: Connection, project: str | None = None) -> Sequence[DeliveryCount]:
    """Return how many deliveries are in each status, those of a project if one is given."""
    columns = webhook_deliveries.c
    oldest = (func.min(column, type_=Instant()) for column in (columns.created_at, columns.next_attempt_at))
    query = select(columns.status, func.count(), *oldest).where(*_of(project)).group_by(columns.status)
    return [DeliveryCount(DeliveryStatus(status), *figures) for status, *figures in connection.execute(query)]


def deliveries_finished_within(connection: Connection, span: timedelta, project: str | None = None) -> int:
    """Return how many deliveries ended lately."""
    is_recent = webhook_deliveries.c.finished_at > database_now_plus(-span)
    query = select(func.count()).select_from(webhook_deliveries).where(is_recent, *_of(project))
    return connection.execute(query).scalar_one()


def _of(project: str | None) -> list[ColumnElement[bool]]:
    return [] if project is None else [webhook_deliveries.c.project == project]


def replay(connection: Connection, delivery_id: int) -> bool:
    """Begin a new round of attempts now, under the same message id; False when there is no such delivery.

    One that waits is brought forward; one that is being sent is left alone.
    """
    exists = select(webhook_deliveries.c.id).where(webhook_deliveries.c.id == delivery_id)
    if connection.execute(exists).first() is None:
        return False
    again = (
        update(webhook_deliveries)
        .where(
            webhook_deliveries.c.id == delivery_id,
            webhook_deliveries.c.status != DeliveryStatus.SENDING.value,
        )
        .values(
            status=DeliveryStatus.WAITING.value,
            next_attempt_at=database_now(),
            round_attempts=0,
            give_up_at=null(),
            finished_at=null(),
        )
    )
    connection.execute(again)
    announce(connection, TOPIC)
    return True


def cancel(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    """Close the waiting deliveries that meet the conditions; return how many. What is being sent goes on."""
    is_waiting = webhook_deliveries.c.status == DeliveryStatus.WAITING.value
    statement = update(webhook_deliveries).where(is_waiting, *conditions)
    values = {
        "status": DeliveryStatus.CANCELLED.value,
        "next_attempt_at": null(),
        "finished_at": database_now(),
    }
    announce(connection, TOPIC)
    return connection.execute(statement.values(values)).rowcount


def delete_finished_deliveries(connection: Connection, kept_for: timedelta, limit: int) -> int:
    """Remove deliveries that ended long ago; return how many."""
    old = (
        select(webhook_deliveries.c.id)
        .where(webhook_deliveries.c.finished_at < database_now_plus(-kept_for))
        .order_by(webhook_deliveries.c.finished_at)
        .limit(limit)
    )
    return connection.execute(delete(webhook_deliveries).where(webhook_deliveries.c.id.in_(old))).rowcount


_VIEW_FIELDS = tuple(DeliveryView.__dataclass_fields__)
_SHOWN = tuple(webhook_deliveries.c[name] for name in _VIEW_FIELDS)


def _view(found: Row) -> DeliveryView:
    values = {name: found[name] for name in _VIEW_FIELDS} | {"status": DeliveryStatus(found["status"])}
    return DeliveryView(**values)
