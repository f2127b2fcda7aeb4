"""Finding *unattended* rows: their state wants work to be open, and none is.

Which states and which work that is, the caller says. Read by the watcher, over two tables of the store.
"""

from collections.abc import Collection

from sqlalchemy import Connection, select, true

from ostler.domain.lifecycle import State
from ostler.store.instances import instances
from ostler.store.jobs import JobStatus, jobs

_OPEN = (JobStatus.WAITING, JobStatus.RUNNING)


def unattended_ids(
    connection: Connection, states: Collection[State], kinds: Collection[str], limit: int
) -> list[str]:
    """Return instances in one of the states about which no job of these kinds is open, oldest first."""
    is_attended = (
        select(true())
        .where(jobs.c.subject == instances.c.id, jobs.c.kind.in_(kinds), jobs.c.status.in_(_OPEN))
        .exists()
    )
    query = (
        select(instances.c.id)
        .where(instances.c.state.in_([state.value for state in states]), ~is_attended)
        .order_by(instances.c.id)
        .limit(limit)
    )
    return list(connection.execute(query).scalars())
