"""The table of health reports: what the last round of checks of each instance found, endpoint by endpoint.

Written with the change that the round made of its instance, read by details, events and webhooks.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Column, Connection, ForeignKey, Integer, String, Table, bindparam, select

from ostler.domain.readiness import EndpointHealth, Overall
from ostler.store.encoded import Encoded
from ostler.store.inserting import Inserting, inserting
from ostler.store.instants import Instant
from ostler.store.schema import metadata
from ostler.store.signals import touch

health_reports = Table(
    "health_reports",
    metadata,
    Column("instance_id", String, ForeignKey("instances.id"), primary_key=True),
    Column("overall", String, nullable=False),
    Column("endpoints", Encoded(tuple[EndpointHealth, ...]), nullable=False),
    Column("failed_rounds", Integer, nullable=False),  # in a row
    Column("checked_at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """One round of checks."""

    instance_id: str
    overall: Overall
    endpoints: tuple[EndpointHealth, ...]
    failed_rounds: int
    checked_at: datetime


def put_report(connection: Connection, report: HealthReport) -> None:
    """Keep a round in place of the one before."""
    values = {
        "instance_id": report.instance_id,
        "overall": report.overall.value,
        "endpoints": report.endpoints,
        "failed_rounds": report.failed_rounds,
        "checked_at": report.checked_at,
    }
    connection.execute(_putting(connection.dialect.name), values)
    touch(connection, report.instance_id)


def find_report(connection: Connection, instance_id: str) -> HealthReport | None:
    """Return the last round of an instance's checks."""
    row = connection.execute(_OF, {"wanted_instance": instance_id}).first()
    if row is None:
        return None
    return HealthReport(
        row.instance_id, Overall(row.overall), row.endpoints, row.failed_rounds, row.checked_at
    )


_OF = select(health_reports).where(health_reports.c.instance_id == bindparam("wanted_instance"))


@cache
def _putting(dialect: str) -> Inserting:
    new = inserting(dialect)(health_reports)
    names = ("overall", "endpoints", "failed_rounds", "checked_at")
    return new.on_conflict_do_update(
        index_elements=["instance_id"], set_={name: new.excluded[name] for name in names}
    )
