"""What becomes of an instance's operations when the instance changes: pure, and decided before any write.

At most one operation is open. An opening supersedes what is open; a change of state or phase is a phase
of the open one; and `outcome_of` says when it has ended.
"""

from dataclasses import dataclass
from datetime import datetime

from ostler.domain.events import PublicEvent
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.operations import Operation, OperationKind, Outcome, ended, in_phase, outcome_of


@dataclass(frozen=True, slots=True)
class Opening:
    """An operation to open; whatever is open ends for it as superseded."""

    id: str
    kind: OperationKind


@dataclass(frozen=True, slots=True)
class Progress:
    """What to write about operations: the one that lost, and the one that goes on, was opened, or ended."""

    superseded: Operation | None
    current: Operation | None
    is_new: bool
    is_changed: bool

    @property
    def has_ended(self) -> bool:
        """Whether the current operation ended by this change."""
        return self.is_changed and self.current is not None and not self.current.is_open

    @property
    def ended(self) -> tuple[Operation, ...]:
        """The operations that end by this change, the one that lost first."""
        current = self.current if self.has_ended else None
        return tuple(each for each in (self.superseded, current) if each is not None)


_TOLD = {
    Outcome.SUCCEEDED: PublicEvent.OPERATION_SUCCEEDED,
    Outcome.FAILED: PublicEvent.OPERATION_FAILED,
    Outcome.SUPERSEDED: PublicEvent.OPERATION_SUPERSEDED,
}


def progressed(
    open_now: Operation | None, opening: Opening | None, instance: Instance, at: datetime
) -> Progress:
    """Say what becomes of the open operation, and of one that is opened now."""
    if opening is None:
        current = None if open_now is None else _moved(open_now, instance, at)
        return Progress(None, current, is_new=False, is_changed=current != open_now)
    superseded = None if open_now is None else ended(open_now, Outcome.SUPERSEDED, at)
    opened = Operation(opening.id, instance.id, opening.kind, at)
    return Progress(superseded, _moved(opened, instance, at), is_new=True, is_changed=True)


def told_of(operation: Operation) -> PublicEvent:
    """Return the event that says how an operation ended."""
    assert operation.outcome is not None, operation.id
    return _TOLD[operation.outcome]


def phase_name(instance: Instance) -> str:
    """Return the name of the step that an instance is in: its phase, else its state."""
    return instance.state.value if instance.phase is None else instance.phase.value


def _moved(operation: Operation, instance: Instance, at: datetime) -> Operation:
    moved = in_phase(operation, phase_name(instance), at)
    outcome = outcome_of(operation.kind, instance)
    if outcome is None:
        return moved
    return ended(moved, outcome, at, _why(operation, instance, at) if outcome is Outcome.FAILED else None)


def _why(operation: Operation, instance: Instance, at: datetime) -> Failure:
    """Return why an operation failed: by its instance's error if that is no older, else by its end."""
    if instance.error is not None and instance.error.at >= operation.opened_at:
        return instance.error
    if instance.state in _GONE:
        message = "the cloud has removed the instance, and nobody here had asked for that"
        return Failure(FailureCode.INSTANCE_GONE, message, at, "create it anew")
    message = f"it ended as {instance.state} before it was usable"
    is_billed = instance.upstream_id is not None
    return Failure(FailureCode.STARTUP_FAILED, message, at, "see its events", still_billed=is_billed)


_GONE = frozenset({State.TERMINATING, State.TERMINATED})
