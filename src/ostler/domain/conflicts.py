"""What a verb means now: the matrix of verb × open operation × state.

Delete supersedes all, stop supersedes create, start and restart, the same verb again is the same
operation, and the rest are conflicts. Two tables say so; `decide` reads them and answers with a value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from ostler.domain.instance import Instance
from ostler.domain.lifecycle import Event, State, has_arrow
from ostler.domain.operations import OperationKind
from ostler.domain.phases import Wanted


class Verb(StrEnum):
    """What can be asked of an instance that exists."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    DELETE = "delete"
    MIGRATE = "migrate"


class ConflictCode(StrEnum):
    """Why a verb is refused now."""

    NOT_STARTABLE = "INSTANCE_NOT_STARTABLE"
    NOT_STOPPABLE = "INSTANCE_NOT_STOPPABLE"
    STARTUP_IN_PROGRESS = "STARTUP_OPERATION_IN_PROGRESS"
    IN_PROGRESS = "OPERATION_IN_PROGRESS"


@dataclass(frozen=True, slots=True)
class Accept:
    """Open an operation; `event` moves the state now, None: the wish is remembered or already being met."""

    event: Event | None
    supersedes: bool = False


@dataclass(frozen=True, slots=True)
class SameOperation:
    """The open operation is the answer."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Refuse, with the code."""

    code: ConflictCode


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """It is so already: answer as if it had just been done."""


Decision = Accept | SameOperation | Conflict | NothingToDo


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision depends on."""

    state: State
    open_kind: OperationKind | None = None
    has_upstream: bool = True
    is_upstream_stopped: bool = False
    is_reclaimed: bool = False
    is_stop_wanted: bool = False  # its owner stopped it, whatever became of that


def situation(instance: Instance, open_kind: OperationKind | None) -> Situation:
    """Return what a decision about an instance depends on."""
    return Situation(
        state=instance.state,
        open_kind=open_kind,
        has_upstream=instance.upstream_id is not None,
        is_upstream_stopped=instance.is_upstream_stopped,
        is_reclaimed=instance.is_reclaimed,
        is_stop_wanted=instance.wanted is Wanted.STOPPED,
    )


_SAME = SameOperation()
_NOTHING = NothingToDo()
_BUSY = Conflict(ConflictCode.IN_PROGRESS)
_NOT_STARTABLE = Conflict(ConflictCode.NOT_STARTABLE)
_NOT_STOPPABLE = Conflict(ConflictCode.NOT_STOPPABLE)

# None: the verb supersedes what is open, and the state decides the rest.
_WHILE_OPEN: Mapping[Verb, Mapping[OperationKind, Decision | None]] = {
    Verb.START: {
        OperationKind.CREATE: _NOT_STARTABLE,
        OperationKind.START: Conflict(ConflictCode.STARTUP_IN_PROGRESS),
        OperationKind.STOP: _BUSY,
        OperationKind.RESTART: _BUSY,
        OperationKind.DELETE: _BUSY,
        OperationKind.MIGRATE: _BUSY,
    },
    Verb.STOP: {
        OperationKind.CREATE: None,
        OperationKind.START: None,
        OperationKind.STOP: _SAME,
        OperationKind.RESTART: None,
        OperationKind.DELETE: _BUSY,
        OperationKind.MIGRATE: _BUSY,
    },
    Verb.RESTART: dict.fromkeys(OperationKind, _BUSY) | {OperationKind.RESTART: _SAME},
    Verb.DELETE: dict.fromkeys(OperationKind) | {OperationKind.DELETE: _SAME},
    Verb.MIGRATE: dict.fromkeys(OperationKind, _BUSY) | {OperationKind.MIGRATE: _SAME},
}

_REMEMBER = Accept(event=None)
_STOP = Accept(Event.STOP)
_RESTART = Accept(Event.RESTART)
_MIGRATE = Accept(Event.MIGRATE)
_DELETE = Accept(Event.DELETE)

# A state that is not named answers with the verb's refusal below.
_IN_STATE: Mapping[Verb, Mapping[State, Decision]] = {
    Verb.START: {State.EXITED: Accept(Event.START), State.FAILED: Accept(Event.START)},
    Verb.STOP: {
        State.CREATING: _REMEMBER,
        State.STARTING: _STOP,
        State.RUNNING: _STOP,
        State.HEALTH_CHECKING: _STOP,
        State.READY: _STOP,
        State.STOPPING: _REMEMBER,
        State.EXITED: _NOTHING,
        State.FAILED: _STOP,
    },
    Verb.RESTART: {
        State.RUNNING: _RESTART,
        State.HEALTH_CHECKING: _RESTART,
        State.READY: _RESTART,
        State.FAILED: _RESTART,
    },
    Verb.MIGRATE: {
        State.RUNNING: _MIGRATE,
        State.HEALTH_CHECKING: _MIGRATE,
        State.READY: _MIGRATE,
        State.EXITED: _MIGRATE,
    },
    Verb.DELETE: {
        **{state: _DELETE for state in State if has_arrow(state, Event.DELETE)},
        State.TERMINATING: _REMEMBER,
        State.TERMINATED: _NOTHING,
    },
}
_REFUSAL: Mapping[Verb, Conflict] = {
    Verb.START: _NOT_STARTABLE,
    Verb.STOP: _NOT_STOPPABLE,
    Verb.RESTART: _NOT_STARTABLE,
    Verb.MIGRATE: _NOT_STARTABLE,
    Verb.DELETE: _BUSY,
}


def decide(verb: Verb, now: Situation) -> Decision:
    """Say what asking the verb means in a situation."""
    if now.open_kind is None:
        return _in_state(verb, now)
    answer = _WHILE_OPEN[verb][now.open_kind]
    if answer is not None:
        return answer
    allowed = _in_state(verb, now)
    return replace(allowed, supersedes=True) if isinstance(allowed, Accept) else allowed


def _in_state(verb: Verb, now: Situation) -> Decision:
    if now.state is State.FAILED:
        return _of_failed(verb, now)
    if verb is Verb.START and now.state is State.EXITED and now.is_reclaimed:
        return _MIGRATE
    return _IN_STATE[verb].get(now.state, _REFUSAL[verb])


def _of_failed(verb: Verb, now: Situation) -> Decision:
    if verb is Verb.DELETE and not now.has_upstream:
        return Accept(Event.DELETE_UNPLACED)
    if verb is Verb.STOP and now.is_stop_wanted and not now.has_upstream:
        return _NOTHING  # it was stopped before it was placed
    lacks_upstream = verb is not Verb.DELETE and not now.has_upstream
    if lacks_upstream or (verb is Verb.START and not now.is_upstream_stopped):
        return _REFUSAL[verb]
    return _IN_STATE[verb].get(now.state, _REFUSAL[verb])
