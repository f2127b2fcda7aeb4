"""Counts over whole tables, for those who watch Ostler from outside: one snapshot, a few indexed queries.

Read in the background at a bounded rate (`usecases/tally.py`), never for a single request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, literal_column, select

from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.operations import OperationKind
from ostler.domain.phases import TerminatingPhase
from ostler.store.instance_lists import count_by_state
from ostler.store.instances import instances
from ostler.store.instants import Instant, database_now
from ostler.store.jobs import JobStatus, Priority, jobs
from ostler.store.ledger import ledger
from ostler.store.operations import operations
from ostler.store.sightings import sightings
from ostler.store.webhook_deliveries import DeliveryStatus, webhook_deliveries

_NONE = timedelta(0)
_PREPAID = TerminatingPhase.UNTIL_END_OF_TERM.value  # a delete that rightly takes months


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """Open jobs of a kind, priority and status; `oldest`: how long the first of the waiting ones is due."""

    kind: str
    priority: Priority
    status: JobStatus
    count: int
    oldest: timedelta


@dataclass(frozen=True, slots=True)
class OpenCount:
    """How many are open, and for how long the first of them has been."""

    count: int = 0
    oldest: timedelta = _NONE


@dataclass(frozen=True, slots=True)
class Billed:
    """How many are billed beside our rows, and what they cost in an hour."""

    count: int = 0
    price_per_hour: Usd = field(default_factory=lambda: Usd(0))


@dataclass(frozen=True, slots=True)
class Tallies:
    """All counts at one instant of the database's clock."""

    at: datetime
    jobs: tuple[OpenJobs, ...] = ()
    instances: Mapping[State, int] = field(default_factory=dict)
    price_per_hour: Usd = field(default_factory=lambda: Usd(0))  # of what is billed now and ours
    beside: Mapping[Kinship, Billed] = field(default_factory=dict)
    operations: Mapping[OperationKind, OpenCount] = field(default_factory=dict)
    deliveries: Mapping[DeliveryStatus, OpenCount] = field(default_factory=dict)


def tallies(connection: Connection) -> Tallies:
    """Count everything."""
    at: datetime = connection.execute(select(database_now())).scalar_one()
    return Tallies(
        at=at,
        jobs=_open_jobs(connection, at),
        instances=count_by_state(connection),
        price_per_hour=Usd(int(connection.execute(_PRICE).scalar() or 0)),
        beside={
            Kinship(kinship): Billed(count, Usd(int(units or 0)))
            for kinship, count, units in connection.execute(_BESIDE)
        },
        operations={
            OperationKind(kind): OpenCount(count, _since(opened_at, at))
            for kind, count, opened_at in connection.execute(_OPERATIONS)
        },
        deliveries={
            DeliveryStatus(status): OpenCount(count, _since(due_at, at))
            for status, count, due_at in connection.execute(_DELIVERIES)
        },
    )


def _open_jobs(connection: Connection, at: datetime) -> tuple[OpenJobs, ...]:
    return tuple(
        OpenJobs(
            kind=kind,
            priority=Priority(priority),
            status=JobStatus(status),
            count=count,
            oldest=_since(due_at, at) if status == JobStatus.WAITING else _NONE,
        )
        for kind, priority, status, count, due_at in connection.execute(_JOBS)
    )


def _since(instant: datetime | None, at: datetime) -> timedelta:
    return _NONE if instant is None else max(_NONE, at - instant)


# the conditions are written out as their partial indexes have them, so that SQLite uses these
_JOBS = (
    select(
        jobs.c.kind, jobs.c.priority, jobs.c.status, func.count(), func.min(jobs.c.due_at, type_=Instant())
    )
    .where(literal_column("status IN ('waiting', 'running')"))
    .group_by(jobs.c.kind, jobs.c.priority, jobs.c.status)
)
_PRICE = select(func.sum(ledger.c.price_units_per_hour)).where(ledger.c.to_at.is_(None))
_BESIDE = select(sightings.c.kinship, func.count(), func.sum(sightings.c.price_units_per_hour)).group_by(
    sightings.c.kinship
)
_OPERATIONS = (
    select(operations.c.kind, func.count(), func.min(operations.c.opened_at, type_=Instant()))
    .join(instances, instances.c.id == operations.c.instance_id)
    .where(operations.c.outcome.is_(None), instances.c.phase.is_distinct_from(_PREPAID))
    .group_by(operations.c.kind)
)
_DELIVERIES = (
    select(
        webhook_deliveries.c.status,
        func.count(),
        func.min(webhook_deliveries.c.created_at, type_=Instant()),
    )
    .where(literal_column("status IN ('waiting', 'sending')"))
    .group_by(webhook_deliveries.c.status)
)
