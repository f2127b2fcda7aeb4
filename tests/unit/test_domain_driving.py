"""Which work has to be open for an instance to go on, for every state and every operation."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from ostler.domain.driving import DRIVEN_STATES, DRIVING_WORK, driving_work
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind
from ostler.domain.sightings import Command
from ostler.domain.work import WorkKind
from tests.support.builders import NOW, an_instance

WORK = {
    State.CREATING: WorkKind.CREATE,
    State.HEALTH_CHECKING: WorkKind.CHECK_HEALTH,
    State.STOPPING: WorkKind.STOP,
    State.TERMINATING: WorkKind.DELETE,
}
UNTIL_TAKEN = {
    (State.STARTING, OperationKind.START): WorkKind.START,
    (State.STARTING, OperationKind.RESTART): WorkKind.RESTART,
    (State.MIGRATING, OperationKind.MIGRATE): WorkKind.MIGRATE,
}


@pytest.mark.parametrize(("state", "kind"), list(product(State, [None, *OperationKind])))
def test_every_state_and_operation_has_the_work_that_carries_it(
    state: State, kind: OperationKind | None
) -> None:
    instance = replace(an_instance(state=state), command=None)
    work = driving_work(instance, kind)
    assert work is (WORK.get(state) or (None if kind is None else UNTIL_TAKEN.get((state, kind))))
    assert work is None or (work in DRIVING_WORK and state in DRIVEN_STATES)


@pytest.mark.parametrize(("state", "kind"), UNTIL_TAKEN)
def test_a_command_that_the_cloud_has_taken_in_this_start_only_has_to_be_seen(
    state: State, kind: OperationKind
) -> None:
    taken = Command(NOW, NOW + timedelta(seconds=1))
    instance = replace(an_instance(state=state), command=taken, start_began_at=NOW)
    assert driving_work(instance, kind) is None
    later = replace(instance, start_began_at=NOW + timedelta(minutes=1))
    assert driving_work(later, kind) is UNTIL_TAKEN[state, kind]
    recreated = replace(later, predecessor_id="the old one")
    assert driving_work(recreated, kind) is None
