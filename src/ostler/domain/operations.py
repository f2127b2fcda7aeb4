"""An *operation*: one requested change of an instance, with its phases and its outcome.

At most one is open per instance. This is the record and how it ends; what a verb means while another one
is open is said by `conflicts.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from ostler.domain.failures import Failure
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State


class OperationKind(StrEnum):
    """Every change that is tracked as an operation."""

    CREATE = "create"
    START = "start"
    STOP = "stop"
    RESTART = "restart"
    DELETE = "delete"
    MIGRATE = "migrate"


class Outcome(StrEnum):
    """How an operation ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # by a stop or a delete


@dataclass(frozen=True, slots=True)
class OperationPhase:
    """One step of an operation, with its times."""

    name: str
    began_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One requested change of an instance."""

    id: str
    instance_id: str
    kind: OperationKind
    opened_at: datetime
    phases: tuple[OperationPhase, ...] = ()
    outcome: Outcome | None = None
    ended_at: datetime | None = None
    failure: Failure | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is still being carried out."""
        return self.outcome is None


class OperationEndedError(Exception):
    """An operation that has ended was to be changed: a mistake of ours."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(f"operation {operation.id} has already ended as {operation.outcome}")


def in_phase(operation: Operation, name: str, at: datetime) -> Operation:
    """Return the operation in a phase; being there already changes nothing."""
    _require_open(operation)
    if operation.phases and operation.phases[-1].name == name:
        return operation
    return replace(operation, phases=(*_closed(operation.phases, at), OperationPhase(name, at)))


def ended(operation: Operation, outcome: Outcome, at: datetime, failure: Failure | None = None) -> Operation:
    """Return the operation with its outcome."""
    _require_open(operation)
    phases = _closed(operation.phases, at)
    return replace(operation, phases=phases, outcome=outcome, ended_at=at, failure=failure)


def outcome_of(kind: OperationKind, instance: Instance) -> Outcome | None:
    """Return how an open operation ends now that its instance is so; None: it goes on."""
    match kind:
        case OperationKind.DELETE:
            return Outcome.SUCCEEDED if instance.state is State.TERMINATED else None
        case OperationKind.STOP:
            is_unplaced = instance.state is State.FAILED and instance.upstream_id is None
            return Outcome.SUCCEEDED if is_unplaced else _ENDS_A_STOP.get(instance.state)
        case OperationKind.CREATE | OperationKind.START | OperationKind.RESTART | OperationKind.MIGRATE:
            return Outcome.SUCCEEDED if instance.is_usable else _ENDS_A_START.get(instance.state)


_ENDS_A_STOP: Mapping[State, Outcome] = {
    State.EXITED: Outcome.SUCCEEDED,
    State.FAILED: Outcome.FAILED,
    State.TERMINATED: Outcome.FAILED,
}
_ENDS_A_START: Mapping[State, Outcome] = {
    State.EXITED: Outcome.FAILED,
    State.FAILED: Outcome.FAILED,
    State.TERMINATING: Outcome.FAILED,
    State.TERMINATED: Outcome.FAILED,
}


def _require_open(operation: Operation) -> None:
    if not operation.is_open:
        raise OperationEndedError(operation)


def _closed(phases: tuple[OperationPhase, ...], at: datetime) -> tuple[OperationPhase, ...]:
    if not phases:
        return ()
    return (*phases[:-1], replace(phases[-1], ended_at=at))
