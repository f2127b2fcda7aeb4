"""When each living instance was last seen: a slim projection from which ages are told.

Read when somebody asks how old what is shown is; decides nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from ostler.domain.lifecycle import State
from ostler.store.instances import instances
from ostler.store.looks import looks


class RowAge(NamedTuple):
    """One living instance."""

    upstream_id: str | None
    placed_at: datetime | None
    observed_at: datetime | None
    looked_at: datetime | None  # in full, at its present upstream


def row_ages(connection: Connection) -> Sequence[RowAge]:
    """Return when all instances that are not terminated were last seen."""
    return [RowAge._make(found) for found in connection.execute(_AGES)]


_AGES = (
    select(instances.c.upstream_id, instances.c.placed_at, instances.c.observed_at, looks.c.observed_at)
    .outerjoin(
        looks, (looks.c.instance_id == instances.c.id) & (looks.c.upstream_id == instances.c.upstream_id)
    )
    .where(instances.c.state != State.TERMINATED.value)
)
