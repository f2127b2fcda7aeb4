"""The rows that the idle stop is about: those with a limit of idleness, and those stopped for a reason.

Whether one is idle is not decided here.
"""

from collections.abc import Collection

from sqlalchemy import Connection, Text, func, select, type_coerce

from ostler.domain.lifecycle import State
from ostler.domain.phases import StopReason
from ostler.store.instances import IN_ROW, InstanceRow, instance_row, instances

# a sieve over the text, so that a large fleet without such limits is not decoded; decoding says the rest
_MAY_HAVE_LIMIT = type_coerce(instances.c.spec, Text).contains('"idle_stop":"', autoescape=True)


def rows_with_idle_stop(
    connection: Connection, states: Collection[State], project: str | None = None
) -> list[InstanceRow]:
    """Return the rows in these states that have a limit of idleness, oldest first."""
    words = [state.value for state in states]
    query = select(*IN_ROW).where(instances.c.state.in_(words), _MAY_HAVE_LIMIT).order_by(instances.c.id)
    if project is not None:
        query = query.where(instances.c.project == project)
    rows = [instance_row(found) for found in connection.execute(query).mappings()]
    return [row for row in rows if row.instance.spec.limits.idle_stop is not None]


def count_stopped_for(connection: Connection, reason: StopReason, project: str | None = None) -> int:
    """Return how many are stopped now for a reason."""
    query = select(func.count()).where(
        instances.c.state == State.EXITED.value, instances.c.stop_reason == reason.value
    )
    if project is not None:
        query = query.where(instances.c.project == project)
    return connection.execute(query).scalar_one()
