"""What people see of the jobs, and what they may do to them: list, count, cancel, retry; and the clean-up.

Called by the routes and by the engine's own periodic work.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, case, delete, func, null, select, true, update
from sqlalchemy import RowMapping as Row

from ostler.store.instances import owned_by
from ostler.store.instants import database_now, database_now_plus
from ostler.store.jobs import TOPIC, JobStatus, Priority, jobs
from ostler.store.signals import announce

_OPEN = (JobStatus.WAITING, JobStatus.RUNNING)
_ENDED_BADLY = (JobStatus.FAILED, JobStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as people see it."""

    id: int
    kind: str
    subject: str
    generation: int
    priority: Priority
    status: JobStatus
    due_at: datetime | None
    attempts: int
    max_attempts: int | None
    lease_owner: str | None
    lease_until: datetime | None
    payload: Mapping[str, str]
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list, newest first; `before_id` continues after the last one of a page.

    `project` leaves those about its instances.
    """

    kind: str | None = None
    statuses: Collection[JobStatus] | None = None
    subject: str | None = None
    project: str | None = None
    before_id: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class JobCount:
    """How many jobs of a kind are in a status, and since when the first of them has waited."""

    kind: str
    status: JobStatus
    count: int
    oldest_at: datetime  # when the oldest of them was asked for
    oldest_due_at: datetime | None  # WAITING: the job that is due the longest, or comes due first


@dataclass(frozen=True, slots=True)
class JobStats:
    """The state of all work, by the database's clock `at`."""

    at: datetime
    counts: tuple[JobCount, ...]
    finished_last_minute: int
    finished_last_hour: int

    @property
    def oldest_wait(self) -> timedelta:
        """For how long the job that is due the longest has been due; zero when none is."""
        due = [count.oldest_due_at for count in self.counts if count.oldest_due_at is not None]
        return max(timedelta(0), self.at - min(due)) if due else timedelta(0)


def list_jobs(connection: Connection, wanted: JobFilter) -> list[JobView]:
    """Return a page of jobs, newest first."""
    query = select(jobs).where(*_conditions(wanted)).order_by(jobs.c.id.desc()).limit(wanted.limit)
    return [_view(row) for row in connection.execute(query).mappings()]


def _conditions(wanted: JobFilter) -> list[ColumnElement[bool]]:
    exact = {jobs.c.kind: wanted.kind, jobs.c.subject: wanted.subject}
    conditions = [column == value for column, value in exact.items() if value is not None]
    conditions += owned_by(jobs.c.subject, wanted.project)
    if wanted.statuses is not None:
        conditions.append(jobs.c.status.in_(wanted.statuses))
    if wanted.before_id is not None:
        conditions.append(jobs.c.id < wanted.before_id)
    return conditions


def find_job(connection: Connection, job_id: int, project: str | None = None) -> JobView | None:
    """Return one job, or None when there is none (any more), or none about an instance of the project."""
    query = select(jobs).where(jobs.c.id == job_id, *owned_by(jobs.c.subject, project))
    row = connection.execute(query).mappings().first()
    return None if row is None else _view(row)


def _view(row: Row) -> JobView:
    values = {column: value for column, value in row.items() if column != "lease_epoch"}
    values["priority"] = Priority(values["priority"])
    values["status"] = JobStatus(values["status"])
    return JobView(**values)


def job_stats(connection: Connection, project: str | None = None) -> JobStats:
    """Count the jobs, those of a project if one is given."""
    oldest_at = func.min(jobs.c.created_at, type_=jobs.c.created_at.type)
    due_at = func.min(case((jobs.c.status == JobStatus.WAITING, jobs.c.due_at)), type_=jobs.c.due_at.type)
    group = (jobs.c.kind, jobs.c.status)
    query = select(*group, func.count(), oldest_at, due_at).where(*owned_by(jobs.c.subject, project))
    counts = tuple(
        JobCount(kind, JobStatus(status), *figures)
        for kind, status, *figures in connection.execute(query.group_by(*group).order_by(*group))
    )
    return JobStats(
        at=connection.execute(select(database_now())).scalar_one(),
        counts=counts,
        finished_last_minute=_finished_within(connection, timedelta(minutes=1), project),
        finished_last_hour=_finished_within(connection, timedelta(hours=1), project),
    )


def _finished_within(connection: Connection, span: timedelta, project: str | None) -> int:
    query = select(func.count()).select_from(jobs).where(jobs.c.finished_at > database_now_plus(-span))
    query = query.where(*owned_by(jobs.c.subject, project))
    return connection.execute(query).scalar_one()


def cancel_job(connection: Connection, job_id: int) -> bool:
    """Close an open job; its holder, if any, finds that it has lost. False when it was not open."""
    cancelling = (
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.status.in_(_OPEN))
        .values(
            status=JobStatus.CANCELLED,
            due_at=null(),
            finished_at=database_now(),
            lease_owner=null(),
            lease_until=null(),
        )
    )
    announce(connection, TOPIC)
    return connection.execute(cancelling).rowcount > 0


def retry_job(connection: Connection, job_id: int) -> bool:
    """Have a failed, cancelled or waiting job run now; False when it cannot, or its like is open."""
    other = jobs.alias("other")
    same_is_open = (
        select(true())
        .where(
            other.c.kind == jobs.c.kind,
            other.c.subject == jobs.c.subject,
            other.c.generation == jobs.c.generation,
            other.c.status.in_(_OPEN),
        )
        .exists()
    )
    can_run = (jobs.c.status == JobStatus.WAITING) | (jobs.c.status.in_(_ENDED_BADLY) & ~same_is_open)
    retrying = (
        update(jobs)
        .where(jobs.c.id == job_id, can_run)
        .values(status=JobStatus.WAITING, due_at=database_now(), attempts=0, finished_at=null())
    )
    announce(connection, TOPIC)
    return connection.execute(retrying).rowcount > 0


def delete_finished(connection: Connection, older_than: timedelta, limit: int) -> int:
    """Remove jobs that ended that long ago, at most `limit` of them; return how many."""
    old = select(jobs.c.id).where(jobs.c.finished_at < database_now_plus(-older_than)).limit(limit)
    return connection.execute(delete(jobs).where(jobs.c.id.in_(old))).rowcount
