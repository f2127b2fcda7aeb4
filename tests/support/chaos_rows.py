"""The rows of an installation as chaos looks at them: from beside, as one who comes after a crash would."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, NullPool, create_engine, func, make_url, select

from ostler.domain.lifecycle import State
from ostler.domain.operations import Outcome
from ostler.store.attempts import has_open_attempt
from ostler.store.instances import rows_in_states
from ostler.store.jobs import JobStatus, jobs
from ostler.store.operations import operations
from tests.support.chaos_verdict import Ours


@dataclass(frozen=True, slots=True)
class Rows:
    """A database that a server works on, read beside it."""

    engine: Engine

    def all(self) -> list[Ours]:
        """Return every row, as far as it is compared."""
        with self.engine.connect() as connection:
            return compared_rows(connection)

    def held_jobs(self, pid: int) -> dict[int, int]:
        """Return the jobs that a process holds, or held when it died, with the epochs of their leases."""
        with self.engine.connect() as connection:
            return held_jobs(connection, f"%:{pid}:%")

    def has_gone_on(self, held: Mapping[int, int]) -> bool:
        """Tell whether any of these jobs was claimed anew."""
        query = select(jobs.c.id, jobs.c.lease_epoch).where(jobs.c.id.in_(held))
        with self.engine.connect() as connection:
            return any(row.lease_epoch > held[row.id] for row in connection.execute(query))


@contextmanager
def rows_of(url: str) -> Iterator[Rows]:
    """Look into the database at an address."""
    made = make_url(url)
    driver = "postgresql+psycopg" if made.drivername.startswith("postgres") else "sqlite"
    engine = create_engine(made.set(drivername=driver), poolclass=NullPool)
    try:
        yield Rows(engine)
    finally:
        engine.dispose()


def compared_rows(connection: Connection) -> list[Ours]:
    """Return every row of a database, as far as it is compared."""
    still_open = connection.execute(
        select(operations.c.instance_id, operations.c.kind).where(operations.c.outcome.is_(None))
    ).all()
    newest = func.row_number().over(partition_by=operations.c.instance_id, order_by=operations.c.id.desc())
    numbered = select(operations.c.instance_id, operations.c.outcome, newest.label("number")).subquery()
    last = select(numbered.c.instance_id).where(
        numbered.c.number == 1, numbered.c.outcome == Outcome.FAILED.value
    )
    failed = set(connection.execute(last).scalars())
    return [
        Ours(
            id=row.instance.id,
            state=row.instance.state,
            upstream_id=row.instance.upstream_id,
            predecessor_id=row.instance.predecessor_id,
            open_operations=tuple(kind for owner, kind in still_open if owner == row.instance.id),
            has_open_attempt=has_open_attempt(connection, row.instance.id),
            has_told_failure=row.instance.id in failed,
        )
        for row in rows_in_states(connection, list(State))
    ]


def held_jobs(connection: Connection, owner_like: str = "%") -> dict[int, int]:
    """Return the jobs under a lease of such an owner, with its epoch."""
    query = select(jobs.c.id, jobs.c.lease_epoch).where(
        jobs.c.status == JobStatus.RUNNING.value, jobs.c.lease_owner.like(owner_like)
    )
    return {row.id: row.lease_epoch for row in connection.execute(query)}
