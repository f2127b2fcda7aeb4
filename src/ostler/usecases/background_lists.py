"""Reading background work: one piece, a page of all, and how much there is, out of three tables as one.

Called by `job_desk.py`, inside its transactions; `project` is that of the asker, None for who sees all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection

from ostler.domain.errors import Missing, Thing
from ostler.store.job_views import JobFilter, JobView, find_job, job_stats, list_jobs
from ostler.store.operation_views import (
    OperationFilter,
    count_operations,
    list_operations,
    operations_ended_within,
)
from ostler.store.operations import OperationRow, find_operation
from ostler.store.webhook_views import (
    DeliveryFilter,
    DeliveryView,
    count_deliveries,
    deliveries_finished_within,
    find_delivery,
    list_deliveries,
)
from ostler.usecases.asking import Asker, visible
from ostler.usecases.background import (
    DELIVERY_STATUSES,
    JOB_STATUSES,
    MONITORS,
    OUTCOMES,
    SEND_WEBHOOK,
    BackgroundJob,
    BackgroundPage,
    Kin,
    Position,
    WorkStatus,
    merged,
    of_delivery,
    of_job,
    of_operation,
    split,
)

S = TypeVar("S")
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class WorkFilter:
    """Which work to list, newest first; `after` continues after a page."""

    type: str | None = None
    status: WorkStatus | None = None
    instance_id: str | None = None
    project: str | None = None
    after: Position | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class WorkCount:
    """How much work of a type is in a status, how old the oldest of it is, and since when it is due."""

    type: str
    status: WorkStatus
    count: int
    oldest_at: datetime
    oldest_due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WorkStats:
    """The state of all work, by the database's clock `at`."""

    at: datetime
    counts: Sequence[WorkCount]
    oldest_wait: timedelta  # for how long the work that is due the longest has been due
    finished_last_minute: int
    finished_last_hour: int


def find_work(connection: Connection, job_id: str, asker: Asker) -> BackgroundJob:
    """Return what an id names, if the asker may see it; raise Missing."""
    found = _find(connection, job_id, asker)
    if found is None:
        raise Missing(Thing.JOB, job_id)
    return found


def _find(connection: Connection, job_id: str, asker: Asker) -> BackgroundJob | None:
    match split(job_id):
        case None:
            return None
        case Kin.JOB, number:
            job = find_job(connection, int(number), asker.project)
            return None if job is None else of_job(job)
        case Kin.OPERATION, name:
            operation = find_monitored(connection, name, asker)
            return None if operation is None else of_operation(operation)
        case _, number:
            delivery = find_delivery(connection, int(number))
            is_theirs = delivery is not None and asker.may_see(delivery.project)
            return of_delivery(delivery) if delivery is not None and is_theirs else None


def find_monitored(connection: Connection, operation_id: str, asker: Asker) -> OperationRow | None:
    """Return an operation that is shown as work and that the asker may see."""
    row = find_operation(connection, operation_id)
    if row is None or row.operation.kind not in MONITORS:
        return None
    try:
        visible(connection, row.operation.instance_id, asker)
    except Missing:
        return None
    return row


def page_of_work(connection: Connection, wanted: WorkFilter) -> BackgroundPage:
    """Return a page of the three lists together."""
    lists = {
        Kin.JOB: [of_job(each) for each in _jobs(connection, wanted)],
        Kin.OPERATION: [of_operation(each) for each in _operations(connection, wanted)],
        Kin.DELIVERY: [of_delivery(each) for each in _deliveries(connection, wanted)],
    }
    return merged(lists, wanted.limit)


def _jobs(connection: Connection, wanted: WorkFilter) -> Sequence[JobView]:
    if wanted.type == SEND_WEBHOOK or wanted.type in MONITORS.values():
        return ()
    query = JobFilter(
        kind=wanted.type,
        statuses=_beneath(JOB_STATUSES, wanted.status),
        subject=wanted.instance_id,
        project=wanted.project,
        before_id=None if wanted.after is None else wanted.after.job,
        limit=wanted.limit + 1,
    )
    return list_jobs(connection, query)


def _operations(connection: Connection, wanted: WorkFilter) -> Sequence[OperationRow]:
    kinds = [kind for kind, name in MONITORS.items() if wanted.type in {None, name}]
    if not kinds:
        return ()
    query = OperationFilter(
        kinds=kinds,
        outcomes=_beneath(OUTCOMES, wanted.status),
        instance_id=wanted.instance_id,
        project=wanted.project,
        before_id=None if wanted.after is None else wanted.after.operation,
        limit=wanted.limit + 1,
    )
    return list_operations(connection, query)


def _deliveries(connection: Connection, wanted: WorkFilter) -> Sequence[DeliveryView]:
    if wanted.type not in {None, SEND_WEBHOOK}:
        return ()
    query = DeliveryFilter(
        statuses=_beneath(DELIVERY_STATUSES, wanted.status),
        instance_id=wanted.instance_id,
        project=wanted.project,
        before_id=None if wanted.after is None else wanted.after.delivery,
        limit=wanted.limit + 1,
    )
    return list_deliveries(connection, query)


def _beneath(shown: Mapping[S, WorkStatus], status: WorkStatus | None) -> list[S] | None:
    """Return what is shown as a status; None: everything."""
    return None if status is None else [each for each, name in shown.items() if name is status]


def stats_of_work(connection: Connection, project: str | None) -> WorkStats:
    """Return counts, ages and throughput of all that is open or ended within the last days."""
    jobs = job_stats(connection, project)

    def finished(span: timedelta) -> int:
        operations = operations_ended_within(connection, span, MONITORS, project)
        return operations + deliveries_finished_within(connection, span, project)

    counts = [
        *(
            WorkCount(each.kind, JOB_STATUSES[each.status], each.count, each.oldest_at, each.oldest_due_at)
            for each in jobs.counts
        ),
        *(
            WorkCount(MONITORS[each.kind], OUTCOMES[each.outcome], each.count, each.oldest_at)
            for each in count_operations(connection, MONITORS, project)
        ),
        *(
            WorkCount(
                SEND_WEBHOOK, DELIVERY_STATUSES[each.status], each.count, each.oldest_at, each.oldest_due_at
            )
            for each in count_deliveries(connection, project)
        ),
    ]
    due = [each.oldest_due_at for each in counts if each.oldest_due_at is not None]
    return WorkStats(
        at=jobs.at,
        counts=_joined(counts),
        oldest_wait=max(timedelta(0), jobs.at - min(due, default=jobs.at)),
        finished_last_minute=jobs.finished_last_minute + finished(_MINUTE),
        finished_last_hour=jobs.finished_last_hour + finished(_HOUR),
    )


def _joined(counts: Sequence[WorkCount]) -> Sequence[WorkCount]:
    """Join the counts that people see under one type and status."""
    joined: dict[tuple[str, WorkStatus], WorkCount] = {}
    for each in counts:
        key = (each.type, each.status)
        other = joined.get(key, each)
        dues = [due for due in (each.oldest_due_at, other.oldest_due_at) if due is not None]
        joined[key] = WorkCount(
            *key,
            count=each.count + (other.count if key in joined else 0),
            oldest_at=min(each.oldest_at, other.oldest_at),
            oldest_due_at=min(dues, default=None),
        )
    return [joined[key] for key in sorted(joined)]
