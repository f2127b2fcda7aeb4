"""Operations: their phases, their end, and when an instance's state ends them."""

from dataclasses import replace

import pytest

from ostler.domain.failures import FailureCode
from ostler.domain.lifecycle import State
from ostler.domain.operations import (
    OperationEndedError,
    OperationKind,
    Outcome,
    ended,
    in_phase,
    outcome_of,
)
from tests.support.builders import a_failure, after, an_instance, an_operation, unplaced


def test_a_phase_ends_when_the_next_begins() -> None:
    operation = in_phase(in_phase(an_operation(), "placing", after(1)), "starting", after(3))

    assert [(phase.name, phase.began_at, phase.ended_at) for phase in operation.phases] == [
        ("placing", after(1), after(3)),
        ("starting", after(3), None),
    ]


def test_entering_the_same_phase_again_changes_nothing() -> None:
    operation = in_phase(an_operation(), "placing", after(1))
    assert in_phase(operation, "placing", after(2)) == operation


def test_the_end_closes_the_last_phase() -> None:
    failure = a_failure()
    operation = ended(in_phase(an_operation(), "placing", after(1)), Outcome.FAILED, after(5), failure)

    assert not operation.is_open
    assert operation.phases[-1].ended_at == operation.ended_at == after(5)
    assert operation.failure == failure


def test_an_operation_ends_once() -> None:
    operation = ended(an_operation(), Outcome.SUPERSEDED, after(1))
    with pytest.raises(OperationEndedError, match="op-1"):
        ended(operation, Outcome.SUCCEEDED, after(2))
    with pytest.raises(OperationEndedError, match="superseded"):
        in_phase(operation, "placing", after(2))


STARTS = [OperationKind.CREATE, OperationKind.START, OperationKind.RESTART, OperationKind.MIGRATE]


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("state", State)
def test_what_starts_an_instance_ends_when_it_is_usable_or_came_to_nothing(
    kind: OperationKind, state: State
) -> None:
    expected = {
        State.RUNNING: Outcome.SUCCEEDED,
        State.READY: Outcome.SUCCEEDED,
        State.EXITED: Outcome.FAILED,
        State.FAILED: Outcome.FAILED,
        State.TERMINATING: Outcome.FAILED,
        State.TERMINATED: Outcome.FAILED,
    }
    assert outcome_of(kind, an_instance(state)) is expected.get(state)


def test_running_does_not_end_a_start_whose_check_is_still_to_come() -> None:
    assert outcome_of(OperationKind.START, replace(an_instance(State.RUNNING), ready_at=None)) is None


@pytest.mark.parametrize("state", State)
def test_a_stop_ends_when_the_cloud_has_stopped_it(state: State) -> None:
    expected = {
        State.EXITED: Outcome.SUCCEEDED,
        State.FAILED: Outcome.FAILED,
        State.TERMINATED: Outcome.FAILED,
    }
    assert outcome_of(OperationKind.STOP, an_instance(state)) is expected.get(state)


def test_a_stop_of_what_was_never_placed_has_succeeded_for_nothing_runs() -> None:
    assert outcome_of(OperationKind.STOP, unplaced(an_instance(State.FAILED))) is Outcome.SUCCEEDED


@pytest.mark.parametrize("state", State)
def test_a_delete_ends_only_when_nothing_is_left(state: State) -> None:
    expected = Outcome.SUCCEEDED if state is State.TERMINATED else None
    assert outcome_of(OperationKind.DELETE, an_instance(state)) is expected


@pytest.mark.parametrize("code", FailureCode)
def test_a_failure_says_whether_asking_again_may_help(code: FailureCode) -> None:
    hopeless = {
        FailureCode.REGISTRY_AUTH_FAILED,
        FailureCode.TEMPLATE_INVALID,
        FailureCode.BUDGET_EXCEEDED,
        FailureCode.REFUSED_BY_CLOUD,
        FailureCode.OFFER_MISMATCH,
        FailureCode.INSTANCE_GONE,
        FailureCode.CREATE_CALLED_OFF,
    }
    assert a_failure(code).is_retryable is (code not in hopeless)
