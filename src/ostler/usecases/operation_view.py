"""An operation as readers see it: what was asked and became of it, and of a delete what the instance cost.

The cost is the ledger's and not kept a second time, so that what is corrected later is shown corrected.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.domain.money import Usd
from ostler.domain.operations import OperationKind, Outcome
from ostler.store.operations import OperationRow
from ostler.usecases.bookkeeping import cost_so_far


@dataclass(frozen=True, slots=True)
class OperationView:
    """An operation; `cost` None: it is no delete that has succeeded."""

    row: OperationRow
    cost: Usd | None


def viewed(connection: Connection, row: OperationRow) -> OperationView:
    """Return an operation with what its instance cost, if it ended that."""
    found = row.operation
    if found.kind is not OperationKind.DELETE or found.outcome is not Outcome.SUCCEEDED:
        return OperationView(row, None)
    assert found.ended_at is not None, found.id
    return OperationView(row, cost_so_far(connection, found.instance_id, found.ended_at))
