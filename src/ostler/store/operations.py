"""The table of operations: every change that was asked for, its phases and how it ended.

At most one is open per instance: a unique index says so, whatever the code does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Index,
    RowMapping,
    String,
    Table,
    bindparam,
    insert,
    select,
    text,
    update,
)

from ostler.domain.failures import Failure
from ostler.domain.operations import Operation, OperationKind, OperationPhase, Outcome
from ostler.store.encoded import Encoded
from ostler.store.instants import Instant
from ostler.store.schema import metadata

_OPEN = text("outcome IS NULL")

operations = Table(
    "operations",
    metadata,
    Column("id", String, primary_key=True),
    Column("instance_id", String, ForeignKey("instances.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("phases", Encoded(tuple[OperationPhase, ...]), nullable=False),
    Column("outcome", String, nullable=True),
    Column("ended_at", Instant, nullable=True),
    Column("failure", Encoded(Failure), nullable=True),
    Column("asked_by", String, nullable=False),
    Index("uq_operations_open", "instance_id", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
    Index("ix_operations_instance", "instance_id", "opened_at"),
)


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation and who asked for it."""

    operation: Operation
    asked_by: str


def insert_operation(connection: Connection, row: OperationRow) -> None:
    """Write a new operation."""
    connection.execute(_INSERT, _values(row) | {"id": row.operation.id})


def update_operation(connection: Connection, operation: Operation) -> None:
    """Write what became of an operation."""
    values = {
        "wanted_id": operation.id,
        "phases": operation.phases,
        "outcome": None if operation.outcome is None else operation.outcome.value,
        "ended_at": operation.ended_at,
        "failure": operation.failure,
    }
    connection.execute(_UPDATE, values)


def open_operation(connection: Connection, instance_id: str) -> OperationRow | None:
    """Return the operation that is open on an instance, if there is one."""
    found = connection.execute(_OPEN_OF, {"wanted_instance": instance_id}).mappings().first()
    return None if found is None else operation_row(found)


def find_operation(connection: Connection, operation_id: str) -> OperationRow | None:
    """Return one operation, or None."""
    query = select(operations).where(operations.c.id == operation_id)
    found = connection.execute(query).mappings().first()
    return None if found is None else operation_row(found)


def operations_of(connection: Connection, instance_id: str, limit: int = 100) -> Sequence[OperationRow]:
    """Return an instance's operations, newest first."""
    query = (
        select(operations)
        .where(operations.c.instance_id == instance_id)
        .order_by(operations.c.opened_at.desc(), *_WINNER_FIRST)
        .limit(limit)
    )
    return [operation_row(found) for found in connection.execute(query).mappings()]


# of two opened in the same instant, the one that lost was the first
_WINNER_FIRST = (
    operations.c.outcome.is_(None).desc(),
    (operations.c.outcome == Outcome.SUPERSEDED.value).asc(),
    operations.c.ended_at.desc(),
    operations.c.id.desc(),
)
_INSERT = insert(operations)
_UPDATE = update(operations).where(operations.c.id == bindparam("wanted_id"))
_OPEN_OF = select(operations).where(
    operations.c.instance_id == bindparam("wanted_instance"), operations.c.outcome.is_(None)
)


def operation_row(found: RowMapping) -> OperationRow:
    """Read a row of the table."""
    operation = Operation(
        id=found["id"],
        instance_id=found["instance_id"],
        kind=OperationKind(found["kind"]),
        opened_at=found["opened_at"],
        phases=found["phases"],
        outcome=None if found["outcome"] is None else Outcome(found["outcome"]),
        ended_at=found["ended_at"],
        failure=found["failure"],
    )
    return OperationRow(operation, found["asked_by"])


def _values(row: OperationRow) -> dict[str, object]:
    operation = row.operation
    return {
        "instance_id": operation.instance_id,
        "kind": operation.kind.value,
        "opened_at": operation.opened_at,
        "phases": operation.phases,
        "outcome": None if operation.outcome is None else operation.outcome.value,
        "ended_at": operation.ended_at,
        "failure": operation.failure,
        "asked_by": row.asked_by,
    }
