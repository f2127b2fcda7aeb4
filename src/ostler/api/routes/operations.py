"""`/api/operations/{id}`: one requested change of an instance, its phases and how it ended.

The answer to every change names its operation; this is where it is followed.
"""

from fastapi import APIRouter

from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Dollars, Identifier, Instant
from ostler.api.routes.instance_answers import ErrorAnswer, error_of
from ostler.usecases.operation_view import OperationView

router = APIRouter(prefix="/api/operations", tags=["operations"])


class PhaseAnswer(Answer):
    """One step of an operation."""

    name: str
    began_at: Instant
    ended_at: Instant | None


class OperationAnswer(Answer):
    """One requested change."""

    id: str
    instance_id: str
    kind: str
    status: str
    outcome: str | None
    phases: list[PhaseAnswer]
    opened_at: Instant
    ended_at: Instant | None
    asked_by: str
    error: ErrorAnswer | None
    cost: Dollars | None  # of a delete that succeeded: what the instance cost in all


@router.get("/{operation_id}", summary="One operation")
async def operation(operation_id: Identifier, on: Exchange) -> OperationAnswer:
    return operation_of(await on.instances.reading.operation(operation_id, on.asker))


def operation_of(view: OperationView) -> OperationAnswer:
    """Return an operation as it is shown."""
    found = view.row.operation
    return OperationAnswer(
        id=found.id,
        instance_id=found.instance_id,
        kind=found.kind,
        status="open" if found.is_open else "ended",
        outcome=found.outcome,
        phases=[
            PhaseAnswer(name=each.name, began_at=each.began_at, ended_at=each.ended_at)
            for each in found.phases
        ],
        opened_at=found.opened_at,
        ended_at=found.ended_at,
        asked_by=view.row.asked_by,
        error=error_of(found.failure),
        cost=None if view.cost is None else view.cost.amount,
    )
