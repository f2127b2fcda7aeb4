"""What the regular probes read of the ready rows: a slice at a time, in the order of their ids.

A slice begins behind the last id of the slice before, so that a sweep over the fleet needs no memory of it.
The policy comes as its JSON text: most rows have the same one.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Text, func, select, type_coerce

from ostler.domain.lifecycle import State
from ostler.store.health_reports import health_reports
from ostler.store.instances import instances


class ReadyRow(NamedTuple):
    """One ready row."""

    id: str
    upstream_id: str
    policy: str  # JSON
    checked_at: datetime | None  # None: no round was ever kept


_IS_PROBED = (
    instances.c.state == State.READY.value,
    instances.c.health.is_not(None),
    instances.c.upstream_id.is_not(None),
)
_SLICE = (
    select(
        instances.c.id,
        instances.c.upstream_id,
        type_coerce(instances.c.health, Text),
        health_reports.c.checked_at,
    )
    .join_from(instances, health_reports, instances.c.id == health_reports.c.instance_id, isouter=True)
    .where(*_IS_PROBED)
    .order_by(instances.c.id)
)


def count_ready_rows(connection: Connection) -> int:
    """Return how many rows are ready."""
    query = select(func.count()).select_from(instances).where(instances.c.state == State.READY.value)
    return connection.execute(query).scalar_one()


def ready_rows(connection: Connection, after_id: str, limit: int) -> list[ReadyRow]:
    """Return the next ready rows behind an id."""
    query = _SLICE.where(instances.c.id > after_id).limit(limit)
    return [ReadyRow._make(found) for found in connection.execute(query)]
