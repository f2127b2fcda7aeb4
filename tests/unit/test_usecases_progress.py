"""What becomes of operations when an instance changes."""

from dataclasses import replace

import pytest

from ostler.domain.events import PublicEvent
from ostler.domain.failures import FailureCode
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind, Outcome
from ostler.domain.phases import CreatingPhase
from ostler.usecases.progress import Opening, progressed, told_of
from tests.support.builders import NOW, a_failure, after, an_instance, an_operation


def test_without_an_operation_nothing_becomes_of_it() -> None:
    progress = progressed(None, None, an_instance(), NOW)
    assert (progress.current, progress.superseded, progress.is_changed) == (None, None, False)


def test_an_opened_operation_has_its_first_phase() -> None:
    instance = replace(an_instance(State.CREATING), phase=CreatingPhase.QUEUED)
    progress = progressed(None, Opening("op-2", OperationKind.CREATE), instance, NOW)
    assert progress.is_new
    assert progress.current is not None
    assert progress.current.is_open
    assert [phase.name for phase in progress.current.phases] == ["queued"]


def test_an_opening_supersedes_what_is_open_and_tells_it_first() -> None:
    progress = progressed(
        an_operation(), Opening("op-2", OperationKind.DELETE), an_instance(State.TERMINATING), after(5)
    )
    assert progress.superseded is not None
    assert progress.superseded.outcome is Outcome.SUPERSEDED
    assert progress.superseded.ended_at == after(5)
    assert [told_of(each) for each in progress.ended] == [PublicEvent.OPERATION_SUPERSEDED]


def test_a_phase_that_goes_on_changes_nothing() -> None:
    first = progressed(an_operation(), None, an_instance(State.STARTING), NOW).current
    again = progressed(first, None, an_instance(State.STARTING), after(5))
    assert not again.is_changed
    assert again.current == first


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State.RUNNING, PublicEvent.OPERATION_SUCCEEDED),
        (State.FAILED, PublicEvent.OPERATION_FAILED),
        (State.TERMINATED, PublicEvent.OPERATION_FAILED),
    ],
)
def test_a_create_ends_with_its_instance(state: State, expected: PublicEvent) -> None:
    instance = replace(an_instance(state), error=a_failure())
    progress = progressed(an_operation(), None, instance, after(9))
    assert progress.has_ended
    [ended] = progress.ended
    assert told_of(ended) is expected
    assert (ended.failure is None) == (expected is PublicEvent.OPERATION_SUCCEEDED)


def test_an_operation_that_is_met_at_once_is_opened_and_ended() -> None:
    progress = progressed(None, Opening("op-2", OperationKind.DELETE), an_instance(State.TERMINATED), NOW)
    assert progress.is_new
    assert progress.has_ended


@pytest.mark.parametrize(
    ("kind", "state", "code"),
    [
        (OperationKind.STOP, State.TERMINATED, FailureCode.INSTANCE_GONE),
        (OperationKind.START, State.TERMINATED, FailureCode.INSTANCE_GONE),
        (OperationKind.RESTART, State.TERMINATING, FailureCode.INSTANCE_GONE),
        (OperationKind.START, State.EXITED, FailureCode.STARTUP_FAILED),
    ],
)
def test_what_fails_says_why_although_its_instance_has_only_an_older_error(
    kind: OperationKind, state: State, code: FailureCode
) -> None:
    opened = replace(an_operation(kind), opened_at=after(60))
    for error in (None, a_failure()):
        ended = progressed(opened, None, replace(an_instance(state), error=error), after(90)).current
        assert ended is not None
        assert ended.failure is not None
        assert (ended.failure.code, ended.failure.at) == (code, after(90))
