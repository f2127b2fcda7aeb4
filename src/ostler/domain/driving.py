"""Which work carries an instance onwards, told from the instance alone. Pure.

Every change asks for the work that it wants; this says the same of a row that is found with no work open, be
it that somebody cancelled it. What only waits for the cloud is carried by the watcher, and needs none.
"""

from collections.abc import Mapping

from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind
from ostler.domain.work import WorkKind

_BY_STATE: Mapping[State, WorkKind] = {
    State.CREATING: WorkKind.CREATE,
    State.HEALTH_CHECKING: WorkKind.CHECK_HEALTH,
    State.STOPPING: WorkKind.STOP,
    State.TERMINATING: WorkKind.DELETE,
}
# until the cloud has taken the command; then it only has to be seen
_UNTIL_TAKEN: Mapping[tuple[State, OperationKind], WorkKind] = {
    (State.STARTING, OperationKind.START): WorkKind.START,
    (State.STARTING, OperationKind.RESTART): WorkKind.RESTART,
    (State.MIGRATING, OperationKind.MIGRATE): WorkKind.MIGRATE,
}
DRIVEN_STATES = frozenset({*_BY_STATE, *(state for state, _ in _UNTIL_TAKEN)})
DRIVING_WORK = frozenset({*_BY_STATE.values(), *_UNTIL_TAKEN.values()})


def driving_work(instance: Instance, open_kind: OperationKind | None) -> WorkKind | None:
    """Return the work that has to be open for an instance to go on; None: it needs none."""
    by_state = _BY_STATE.get(instance.state)
    if by_state is not None or open_kind is None or _is_command_taken(instance):
        return by_state
    return _UNTIL_TAKEN.get((instance.state, open_kind))


def _is_command_taken(instance: Instance) -> bool:
    command, began_at = instance.command, instance.start_began_at
    if instance.predecessor_id is not None:  # recreated elsewhere already
        return True
    if command is None or command.answered_at is None:
        return False
    return began_at is None or command.sent_at >= began_at
