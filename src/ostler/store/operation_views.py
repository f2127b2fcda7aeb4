"""What people see of all operations together: a page of them, and how many there are.

Called by the views over all background work; what is shown of one instance's is in `operations.py`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, func, select

from ostler.domain.operations import OperationKind, Outcome
from ostler.store.instances import owned_by
from ostler.store.instants import database_now_plus
from ostler.store.operations import OperationRow, operation_row, operations

_SHOWN_FOR = timedelta(hours=24)  # what ended longer ago is counted no more, as its jobs are removed


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations to list, newest first; `before_id` continues after the last one of a page.

    An outcome of None is that of an open operation.
    """

    kinds: Collection[OperationKind]
    outcomes: Collection[Outcome | None] | None = None
    instance_id: str | None = None
    project: str | None = None
    before_id: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class OperationCount:
    """How many operations of a kind have an outcome, and when the oldest of them was asked for."""

    kind: OperationKind
    outcome: Outcome | None
    count: int
    oldest_at: datetime


def list_operations(connection: Connection, wanted: OperationFilter) -> Sequence[OperationRow]:
    """Return a page of operations, newest first: their ids sort by when they were asked for."""
    conditions = [_kind_in(wanted.kinds), *owned_by(operations.c.instance_id, wanted.project)]
    if wanted.outcomes is not None:
        conditions.append(_outcome_in(wanted.outcomes))
    if wanted.instance_id is not None:
        conditions.append(operations.c.instance_id == wanted.instance_id)
    if wanted.before_id is not None:
        conditions.append(operations.c.id < wanted.before_id)
    query = select(operations).where(*conditions).order_by(operations.c.id.desc()).limit(wanted.limit)
    return [operation_row(found) for found in connection.execute(query).mappings()]


def count_operations(
    connection: Connection, kinds: Collection[OperationKind], project: str | None
) -> Sequence[OperationCount]:
    """Count the operations that are open or ended within a day."""
    group = (operations.c.kind, operations.c.outcome)
    oldest_at = func.min(operations.c.opened_at, type_=operations.c.opened_at.type)
    is_recent = operations.c.ended_at.is_(None) | _ended_within(_SHOWN_FOR)
    query = select(*group, func.count(), oldest_at).where(
        _kind_in(kinds), is_recent, *owned_by(operations.c.instance_id, project)
    )
    return [
        OperationCount(OperationKind(kind), None if outcome is None else Outcome(outcome), *figures)
        for kind, outcome, *figures in connection.execute(query.group_by(*group).order_by(*group))
    ]


def operations_ended_within(
    connection: Connection, span: timedelta, kinds: Collection[OperationKind], project: str | None
) -> int:
    """Return how many operations ended lately."""
    query = select(func.count()).select_from(operations).where(_kind_in(kinds), _ended_within(span))
    return connection.execute(query.where(*owned_by(operations.c.instance_id, project))).scalar_one()


def _kind_in(kinds: Collection[OperationKind]) -> ColumnElement[bool]:
    return operations.c.kind.in_([kind.value for kind in kinds])


def _outcome_in(outcomes: Collection[Outcome | None]) -> ColumnElement[bool]:
    is_one = operations.c.outcome.in_([outcome.value for outcome in outcomes if outcome is not None])
    return is_one | operations.c.outcome.is_(None) if None in outcomes else is_one


def _ended_within(span: timedelta) -> ColumnElement[bool]:
    return operations.c.ended_at > database_now_plus(-span)
