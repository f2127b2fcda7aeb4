"""Who runs which job: claims, renewals, results, rescue. Every statement is conditional on the lease's epoch.

A *lease* is the right to work on one job. It is claimed for a term by the database's clock, renewed while
the body runs, and ended by a result. A holder that was paused past its term finds that none of its
statements match any more: it has lost. The same code on SQLite and PostgreSQL; `FOR UPDATE SKIP LOCKED`
says nothing to SQLite's one writer.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Update,
    bindparam,
    case,
    func,
    literal,
    null,
    select,
    type_coerce,
    union_all,
    update,
)

from ostler.store.instants import MICROSECOND, database_now, database_now_plus
from ostler.store.jobs import (
    CLAIMED,
    TOPIC,
    ClaimedJob,
    JobStatus,
    Lease,
    Priority,
    claimed_job,
    due_parameter,
    earlier,
    jobs,
)
from ostler.store.signals import announce

# Ageing: a due job counts as that much younger than it is; so a LOW one yields for two minutes, no longer.
HANDICAP = {
    Priority.HIGH: timedelta(0),
    Priority.NORMAL: timedelta(seconds=30),
    Priority.LOW: timedelta(minutes=2),
}
_SPARE = 4  # candidates looked at for each one wanted, since others may have locked some


@dataclass(frozen=True, slots=True)
class Claim:
    """What a process would take on: `kinds` are those it knows how to run."""

    owner: str
    term: timedelta
    kinds: Collection[str]
    limit: int
    priorities: Collection[Priority] = tuple(Priority)


@dataclass(frozen=True, slots=True)
class Finish:
    """A result that closes the job, unless it was asked for again meanwhile: then it runs once more."""

    lease: Lease
    status: JobStatus  # DONE or FAILED
    attempts: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PutOff:
    """A result after which the job waits; `can_hurry`: asking for it meanwhile brings it forward."""

    lease: Lease
    due: datetime | timedelta
    attempts: int
    error: str | None = None
    can_hurry: bool = True


def claim(connection: Connection, wish: Claim) -> list[ClaimedJob]:
    """Take on due jobs, the most urgent first, each under a new epoch."""
    if wish.limit <= 0:
        return []
    due = _chosen(wish).cte("due")
    taking = (
        update(jobs)
        .where(jobs.c.id.in_(select(due.c.id)))
        .values(
            status=JobStatus.RUNNING,
            lease_owner=wish.owner,
            lease_epoch=jobs.c.lease_epoch + 1,
            lease_until=database_now_plus(wish.term),
            started_at=database_now(),
            due_at=null(),
        )
        .returning(*CLAIMED)
    )
    rows = connection.execute(taking).mappings().all()
    return sorted(map(claimed_job, rows), key=lambda job: (job.priority, job.lease.job_id))


def _chosen(wish: Claim) -> Select[int]:
    """Return the query for the ids to take: some of each priority by index, ranked, the first locked."""
    candidates = union_all(*(_candidates(wish, priority) for priority in wish.priorities)).subquery()
    return (
        select(jobs.c.id)
        .where(jobs.c.id.in_(select(candidates.c.id)), jobs.c.status == JobStatus.WAITING)
        .order_by(_rank(), jobs.c.id)
        .limit(wish.limit)
        .with_for_update(skip_locked=True)
    )


def _candidates(wish: Claim, priority: Priority) -> Select[int]:
    first = (
        select(jobs.c.id)
        .where(
            jobs.c.status == JobStatus.WAITING,
            jobs.c.priority == priority,
            jobs.c.due_at <= database_now(),
            jobs.c.kind.in_(wish.kinds),
        )
        .order_by(jobs.c.due_at)
        .limit(wish.limit * _SPARE)
        .subquery()
    )
    return select(first.c.id)


def _rank() -> ColumnElement[int]:
    handicap = case(
        {int(priority): delay // MICROSECOND for priority, delay in HANDICAP.items()}, value=jobs.c.priority
    )
    return type_coerce(jobs.c.due_at, BigInteger) + handicap


def next_due_in(connection: Connection, kinds: Collection[str]) -> timedelta | None:
    """Return how long it is until the next job comes due that is not yet; None when none waits."""
    firsts = [
        select(func.min(type_coerce(jobs.c.due_at, BigInteger)).label("due_at"))
        .where(
            jobs.c.status == JobStatus.WAITING,
            jobs.c.priority == priority,
            jobs.c.due_at > database_now(),
            jobs.c.kind.in_(kinds),
        )
        for priority in Priority
    ]  # fmt: skip
    first = union_all(*firsts).subquery()
    ahead = connection.execute(
        select(func.min(first.c.due_at) - type_coerce(database_now(), BigInteger))
    ).scalar_one()
    return None if ahead is None else timedelta(microseconds=int(ahead))


def renew(connection: Connection, owner: str, held: Collection[Lease], term: timedelta) -> set[Lease]:
    """Prolong the leases that still hold and return them; those missing are lost."""
    if not held:
        return set()
    renewal = (
        update(jobs)
        .where(
            jobs.c.id.in_([lease.job_id for lease in held]),
            jobs.c.lease_owner == owner,
            jobs.c.status == JobStatus.RUNNING,
        )
        .values(lease_until=database_now_plus(term))
        .returning(jobs.c.id, jobs.c.lease_epoch)
    )
    return {Lease(row.id, row.lease_epoch) for row in connection.execute(renewal)}


def is_held(connection: Connection, lease: Lease) -> bool:
    """Tell whether the lease holds, and keep it so until the end of this transaction."""
    keys = {"wanted_id": lease.job_id, "wanted_epoch": lease.epoch}
    return connection.execute(_HELD, keys).first() is not None


_HELD = (
    select(literal(1))
    .select_from(jobs)
    .where(
        jobs.c.id == bindparam("wanted_id"),
        jobs.c.lease_epoch == bindparam("wanted_epoch"),
        jobs.c.status == JobStatus.RUNNING,
    )
    .with_for_update(read=True)
)


def finish(connection: Connection, results: Sequence[Finish]) -> None:
    """Record the results of leases that hold; the others change nothing."""
    if not results:
        return
    is_wanted_again = jobs.c.due_at.is_not(None)
    closing = _of_a_holder().values(
        status=case((is_wanted_again, JobStatus.WAITING), else_=bindparam("new_status")),
        attempts=case((is_wanted_again, 0), else_=bindparam("new_attempts")),
        error=bindparam("new_error"),
        finished_at=case((is_wanted_again, null()), else_=database_now()),
        lease_owner=null(),
        lease_until=null(),
    )
    connection.execute(
        closing,
        [
            _fence(result.lease)
            | {"new_status": result.status, "new_attempts": result.attempts, "new_error": result.error}
            for result in results
        ],
    )


def put_off(connection: Connection, results: Sequence[PutOff]) -> None:
    """Let jobs wait whose leases hold; the others change nothing."""
    if not results:
        return
    due = due_parameter()
    waiting = _of_a_holder().values(
        status=JobStatus.WAITING,
        due_at=case((bindparam("can_hurry"), earlier(jobs.c.due_at, due)), else_=due),
        attempts=bindparam("new_attempts"),
        error=bindparam("new_error"),
        lease_owner=null(),
        lease_until=null(),
    )
    connection.execute(waiting, [_put_off_values(result) for result in results])


def _put_off_values(result: PutOff) -> dict[str, object]:
    return _fence(result.lease) | {
        "new_due_at": result.due if isinstance(result.due, datetime) else None,
        "delay_us": 0 if isinstance(result.due, datetime) else result.due // MICROSECOND,
        "new_attempts": result.attempts,
        "new_error": result.error,
        "can_hurry": result.can_hurry,
    }


def _of_a_holder() -> Update:
    return update(jobs).where(
        jobs.c.id == bindparam("held_id"),
        jobs.c.lease_epoch == bindparam("held_epoch"),
        jobs.c.status == JobStatus.RUNNING,
    )


def _fence(lease: Lease) -> dict[str, object]:
    return {"held_id": lease.job_id, "held_epoch": lease.epoch}


def hand_back(connection: Connection, leases: Collection[Lease]) -> None:
    """Let somebody else run these at once; not an attempt."""
    for lease in leases:
        connection.execute(_freed(jobs.c.id == lease.job_id, jobs.c.lease_epoch == lease.epoch))
        announce(connection, TOPIC)


def rescue(connection: Connection) -> int:
    """Free the jobs whose holders let their lease run out; return how many."""
    count = connection.execute(_freed(jobs.c.lease_until < database_now())).rowcount
    if count:
        announce(connection, TOPIC)
    return count


def rescue_all(connection: Connection) -> int:
    """Free every leased job: the caller knows that no other process can be alive."""
    return connection.execute(_freed()).rowcount


def _freed(*conditions: ColumnElement[bool]) -> Update:
    return (
        update(jobs)
        .where(jobs.c.status == JobStatus.RUNNING, *conditions)
        .values(
            status=JobStatus.WAITING,
            due_at=func.coalesce(jobs.c.due_at, database_now()),
            lease_owner=null(),
            lease_until=null(),
        )
    )
