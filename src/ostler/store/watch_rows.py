"""What the watcher compares of each living row: a slim projection, read at once and undecoded.

A pass reads it for the whole fleet, so it is tuples of the columns as they stand, instants as microseconds
and states as words. What is to be changed is read again in full, under a lock, by whoever changes it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, and_, or_, select, type_coerce

from ostler.domain.lifecycle import State
from ostler.domain.phases import CreatingPhase, TerminatingPhase
from ostler.store.instances import instances
from ostler.store.revisions import Part, read_revision


class WatchRow(NamedTuple):
    """One row that is not terminated, as far as a look at the cloud's list can concern it."""

    id: str
    upstream_id: str | None
    predecessor_id: str | None
    state: str
    upstream_state: str | None
    upstream_word: str
    reclaim_at_us: int | None
    is_reclaimed: bool
    price_units_per_hour: int | None
    billing_mode: str  # as asked for
    placed_at_us: int | None
    version: int


@dataclass(frozen=True, slots=True)
class LivingRows:
    """All rows that are not terminated, as they were at a revision."""

    revision: int
    rows: Sequence[WatchRow]


_COLUMNS = (
    instances.c.id,
    instances.c.upstream_id,
    instances.c.predecessor_id,
    instances.c.state,
    instances.c.upstream_state,
    instances.c.upstream_word,
    type_coerce(instances.c.reclaim_at, BigInteger),
    instances.c.is_reclaimed,
    instances.c.price_units_per_hour,
    instances.c.billing_mode,
    type_coerce(instances.c.placed_at, BigInteger),
    instances.c.version,
)
_LIVING = select(*_COLUMNS).where(instances.c.state != State.TERMINATED.value)
_MOVING = (State.STARTING.value, State.STOPPING.value, State.MIGRATING.value, State.TERMINATING.value)


def living_rows(connection: Connection, known: LivingRows | None = None) -> LivingRows:
    """Return all rows that are not terminated: what is `known`, if nothing has changed since."""
    revision = read_revision(connection, [Part.INSTANCES])
    if known is not None and known.revision == revision:
        return known
    return LivingRows(revision, [WatchRow._make(found) for found in connection.execute(_LIVING)])


def rows_in_transition(connection: Connection, changed_since: datetime) -> list[WatchRow]:
    """Return the rows that are on their way and moved not too long ago; what waits for a lost create, too.

    A prepaid one that waits for the end of its term is not on its way: that may take months.
    """
    waits_for_term = instances.c.phase == TerminatingPhase.UNTIL_END_OF_TERM.value
    query = select(*_COLUMNS).where(
        or_(
            and_(instances.c.state.in_(_MOVING), or_(instances.c.phase.is_(None), ~waits_for_term)),
            and_(
                instances.c.state == State.CREATING.value,
                instances.c.phase == CreatingPhase.ADOPTING.value,
            ),
        ),
        instances.c.changed_at > changed_since,
    )
    return [WatchRow._make(found) for found in connection.execute(query)]


def has_living_upstream(connection: Connection) -> bool:
    """Tell whether any row that is not terminated has an upstream."""
    query = select(instances.c.id).where(
        instances.c.state != State.TERMINATED.value, instances.c.upstream_id.is_not(None)
    )
    return connection.execute(query.limit(1)).first() is not None


def owners_of(connection: Connection, upstream_ids: Sequence[str]) -> dict[str, str]:
    """Return which instance each of these upstreams belongs to, or belonged: tombstones keep theirs."""
    owners: dict[str, str] = {}
    for start in range(0, len(upstream_ids), _BATCH):
        batch = upstream_ids[start : start + _BATCH]
        for column in (instances.c.upstream_id, instances.c.predecessor_id):
            owners.update(_owned(connection, column, batch))
    return owners


_BATCH = 500  # bound parameters in one statement


def _owned(
    connection: Connection, column: ColumnElement[str], upstream_ids: Collection[str]
) -> dict[str, str]:
    query = select(column, instances.c.id).where(column.in_(upstream_ids))
    return {found[0]: found[1] for found in connection.execute(query)}
