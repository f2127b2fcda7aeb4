"""The table of durable work, and how work gets into it.

A *job* is a row that says: this kind of work is wanted on this subject. It is *open* while it waits or
runs, and at most one of the same kind, subject and generation is open: asking twice is asking once. Who
runs it is in `job_leases.py`; what people see of it in `job_views.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from functools import cache

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Executable,
    Index,
    Integer,
    RowMapping,
    SmallInteger,
    String,
    Table,
    bindparam,
    case,
    func,
    null,
    text,
)
from sqlalchemy.sql.dml import ReturningInsert

from ostler.store.inserting import Inserting, inserting
from ostler.store.instants import MICROSECOND, Instant, database_now, database_now_plus
from ostler.store.schema import Key, metadata
from ostler.store.signals import announce

TOPIC = "jobs"  # announced whenever there may be something to claim


class JobStatus(StrEnum):
    """Where a job is in its life. WAITING ⇄ RUNNING → DONE | FAILED; CANCELLED from both open ones."""

    WAITING = (
        "waiting"  # entered by being asked for, put off or rescued; left when due, by a claim; costs nothing
    )
    RUNNING = (
        "running"  # entered by a claim; left by its holder's result, or by rescue when the lease runs out
    )
    DONE = "done"  # the end; removed after a day
    FAILED = (
        "failed"  # given up, or out of attempts; a person may send it back to WAITING; removed after a day
    )
    CANCELLED = "cancelled"  # a person said so; as FAILED


class Priority(IntEnum):
    """Which of two due jobs goes first; smaller is sooner."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


_OPEN = text("status IN ('waiting', 'running')")
_WAITING = text("status = 'waiting'")
_RUNNING = text("status = 'running'")
_FINISHED = text("finished_at IS NOT NULL")

jobs = Table(
    "jobs",
    metadata,
    Column("id", Key, primary_key=True),
    Column("kind", String, nullable=False),
    Column("subject", String, nullable=False),  # the id of what it is about
    Column("generation", BigInteger, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("status", String, nullable=False),
    # WAITING: not before this. RUNNING: null, or when to run once more since it was asked for meanwhile.
    Column("due_at", Instant, nullable=True),
    Column("attempts", Integer, nullable=False),  # that ended in an error or the end, since the last good one
    Column("max_attempts", Integer, nullable=True),  # null: without end
    Column("lease_owner", String, nullable=True),
    Column("lease_epoch", BigInteger, nullable=False),  # counts claims: the fence
    Column("lease_until", Instant, nullable=True),
    Column("payload", JSON, nullable=False),  # ids only
    Column("error", String, nullable=True),  # of the last attempt
    Column("created_at", Instant, nullable=False),
    Column("started_at", Instant, nullable=True),  # the last claim
    Column("finished_at", Instant, nullable=True),
    CheckConstraint("status <> 'waiting' OR due_at IS NOT NULL", name="waits_for_an_instant"),
    CheckConstraint("(status = 'running') = (lease_owner IS NOT NULL)", name="runs_under_a_lease"),
    Index(
        "uq_jobs_open",
        "kind",
        "subject",
        "generation",
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    ),
    Index("ix_jobs_due", "priority", "due_at", sqlite_where=_WAITING, postgresql_where=_WAITING),
    Index("ix_jobs_leased", "lease_until", sqlite_where=_RUNNING, postgresql_where=_RUNNING),
    Index("ix_jobs_finished", "finished_at", sqlite_where=_FINISHED, postgresql_where=_FINISHED),
)


@dataclass(frozen=True, slots=True)
class NewJob:
    """Work that somebody wants; `due` is an instant by the database's clock, or a while from now."""

    kind: str
    subject: str
    generation: int = 0
    priority: Priority = Priority.NORMAL
    max_attempts: int | None = None
    payload: Mapping[str, str] = field(default_factory=dict)
    due: datetime | timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one job: it holds while the row is RUNNING under this epoch."""

    job_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """What the holder of a lease needs in order to run the job."""

    lease: Lease
    kind: str
    subject: str
    generation: int
    priority: Priority
    attempts: int
    max_attempts: int | None
    payload: Mapping[str, str]
    claimed_at: datetime  # by the database's clock


CLAIMED = tuple(
    jobs.c[name]
    for name in (
        *("id", "lease_epoch", "kind", "subject", "generation"),
        *("priority", "attempts", "max_attempts", "payload", "started_at"),
    )
)


def claimed_job(row: RowMapping) -> ClaimedJob:
    """Return the claimed job of a row of the `CLAIMED` columns."""
    return ClaimedJob(
        lease=Lease(row["id"], row["lease_epoch"]),
        kind=row["kind"],
        subject=row["subject"],
        generation=row["generation"],
        priority=Priority(row["priority"]),
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        payload=row["payload"],
        claimed_at=row["started_at"],
    )


def ask(connection: Connection, job: NewJob) -> int:
    """Have the job done by whoever is free; return its id, or that of the same one already open.

    Asking again brings a waiting job forward, but not one that backs off after an error. One that runs now
    will run once more, since it may have read its rows before the caller changed them.
    """
    job_id: int = connection.execute(_asking(connection.dialect.name), _values(job)).scalar_one()
    announce(connection, TOPIC)
    return job_id


def ask_and_take(connection: Connection, job: NewJob, owner: str, term: timedelta) -> ClaimedJob | None:
    """Ask for the job and claim it in the same breath; None when it runs already (it will run once more)."""
    values = _values(job) | {"new_owner": owner, "term_us": term // MICROSECOND}
    row = connection.execute(_taking(connection.dialect.name), values).mappings().one()
    return claimed_job(row) if row["due_at"] is None else None


def keep_open(connection: Connection, job: NewJob, every: timedelta) -> None:
    """See that a periodic job is open and comes due within its interval; writes nothing when it is so."""
    values = _values(job) | {"every_us": every // MICROSECOND}
    connection.execute(_keeping_open(connection.dialect.name), values)


def _values(job: NewJob) -> dict[str, object]:
    is_instant = isinstance(job.due, datetime)
    return {
        "kind": job.kind,
        "subject": job.subject,
        "generation": job.generation,
        "priority": job.priority,
        "max_attempts": job.max_attempts,
        "payload": dict(job.payload),
        "new_due_at": job.due if is_instant else None,
        "delay_us": 0 if isinstance(job.due, datetime) else job.due // MICROSECOND,
    }


def earlier(one: ColumnElement[datetime], other: ColumnElement[datetime]) -> ColumnElement[datetime]:
    """Return the SQL expression for the earlier of two instants; `one` may be null, `other` not."""
    return case((one < other, one), else_=other)


def due_parameter() -> ColumnElement[datetime]:
    """Return the SQL expression for a due time given as `new_due_at`, or else as `delay_us` from now."""
    return func.coalesce(
        bindparam("new_due_at", type_=Instant), database_now_plus(bindparam("delay_us", type_=BigInteger))
    )


@cache
def _asking(dialect: str) -> ReturningInsert[int]:
    new = inserting(dialect)(jobs).values(
        status=JobStatus.WAITING, lease_epoch=0, due_at=due_parameter(), **_COMMON
    )
    wanted = earlier(jobs.c.due_at, new.excluded.due_at)
    backs_off = (jobs.c.status == JobStatus.WAITING) & (jobs.c.attempts > 0)
    return new.on_conflict_do_update(
        index_elements=_SAME,
        index_where=_OPEN,
        set_={
            "due_at": case((backs_off, jobs.c.due_at), else_=wanted),
            "priority": _sooner(new),
        },
    ).returning(jobs.c.id)


@cache
def _keeping_open(dialect: str) -> Executable:
    new = inserting(dialect)(jobs).values(
        status=JobStatus.WAITING, lease_epoch=0, due_at=due_parameter(), **_COMMON
    )
    latest = database_now_plus(bindparam("every_us", type_=BigInteger))
    return new.on_conflict_do_update(
        index_elements=_SAME,
        index_where=_OPEN,
        set_={"due_at": latest},
        where=(jobs.c.status == JobStatus.WAITING) & (jobs.c.due_at > latest),
    )


@cache
def _taking(dialect: str) -> Executable:
    new = inserting(dialect)(jobs).values(
        status=JobStatus.RUNNING,
        lease_owner=bindparam("new_owner"),
        lease_epoch=1,
        lease_until=database_now_plus(bindparam("term_us", type_=BigInteger)),
        started_at=database_now(),
        **_COMMON,
    )
    was_waiting = jobs.c.status == JobStatus.WAITING
    return new.on_conflict_do_update(
        index_elements=_SAME,
        index_where=_OPEN,
        set_={
            "status": JobStatus.RUNNING,
            "lease_owner": case((was_waiting, new.excluded.lease_owner), else_=jobs.c.lease_owner),
            "lease_epoch": case((was_waiting, jobs.c.lease_epoch + 1), else_=jobs.c.lease_epoch),
            "lease_until": case((was_waiting, new.excluded.lease_until), else_=jobs.c.lease_until),
            "started_at": case((was_waiting, new.excluded.started_at), else_=jobs.c.started_at),
            "due_at": case((was_waiting, null()), else_=database_now()),
            "priority": _sooner(new),
        },
    ).returning(*CLAIMED, jobs.c.due_at)


def _sooner(new: Inserting) -> ColumnElement[int]:
    asked: ColumnElement[int] = new.excluded.priority
    return case((jobs.c.priority < asked, jobs.c.priority), else_=asked)


_SAME = ["kind", "subject", "generation"]
_COMMON = {"attempts": 0, "created_at": database_now()}
