"""What the engine is told about work: kinds, bodies, and the context in which a body runs.

A *kind* is a name with a policy, declared once beside the code that asks for it; a *body* is joined to it
at assembly. A body takes ids, re-reads its rows, and must bear being run twice; its writes go through
`JobContext.write`, which refuses them once the lease is lost.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection

from ostler.engine.outcome import Outcome
from ostler.store.database import Database
from ostler.store.job_leases import is_held
from ostler.store.jobs import ClaimedJob, Lease, NewJob, Priority

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of work and how it is treated."""

    name: str
    priority: Priority = Priority.NORMAL
    max_attempts: int | None = None  # None: without end
    every: timedelta | None = None  # periodic: one job is always open, and runs this long after its last end
    time_limit: timedelta = timedelta(minutes=15)  # a body that takes longer is stopped, and tried again

    def of(
        self,
        subject: str,
        *,
        generation: int = 0,
        payload: Mapping[str, str] | None = None,
        due: datetime | timedelta = timedelta(0),
    ) -> NewJob:
        """Return the request for this work on `subject`; `payload` holds further ids."""
        return NewJob(
            self.name, subject, generation, self.priority, self.max_attempts, payload=payload or {}, due=due
        )


class LeaseLost(Exception):  # noqa: N818 -- says what is so; the body's part is merely over
    """Somebody else holds the job by now, or a person cancelled it: nothing more may be written for it."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"the lease on job {lease.job_id} under epoch {lease.epoch} is lost")
        self.lease = lease


def fenced(fence: Callable[[Connection], None], work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Return `work` behind a fence that raises when it may not be done."""

    def both(connection: Connection) -> T:
        fence(connection)
        return work(connection)

    return both


@dataclass(frozen=True, slots=True)
class JobContext:
    """The job at hand, for its body."""

    database: Database
    id: int
    epoch: int
    subject: str
    generation: int
    payload: Mapping[str, str]
    attempt: int  # which attempt in a row this is, from 1
    claimed_at: datetime  # when this run began, by the database's clock

    @property
    def lease(self) -> Lease:
        return Lease(self.id, self.epoch)

    def still_mine(self, connection: Connection) -> bool:
        """Tell whether the lease holds; if so it does until the end of this transaction."""
        return is_held(connection, self.lease)

    def fence(self, connection: Connection) -> None:
        """Raise `LeaseLost`, which undoes the transaction, unless the lease holds until its end."""
        if not self.still_mine(connection):
            raise LeaseLost(self.lease)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction that stands only if the lease does."""
        return await self.database.write(fenced(self.fence, work))


def context_of(job: ClaimedJob, database: Database) -> JobContext:
    """Return the context in which a claimed job's body runs."""
    identity = (database, job.lease.job_id, job.lease.epoch, job.subject, job.generation)
    return JobContext(*identity, payload=job.payload, attempt=job.attempts + 1, claimed_at=job.claimed_at)


Body = Callable[[JobContext], Awaitable[Outcome]]
