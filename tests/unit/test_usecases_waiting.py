"""When waiting is over: it is so, it may become so, it can no longer become so."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ostler.domain.failures import FailureCode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.phases import Wanted
from ostler.domain.spec import OnReclaim
from ostler.domain.upstream import UpstreamState
from ostler.store.instances import InstanceRow
from ostler.usecases.waiting import Waited, WaitFor, verdict_of
from tests.support.builders import a_failure, a_spec, an_instance, unplaced
from tests.support.cloud import EPOCH

_GOES_ON = None
_IS_SO = Waited.REACHED
_NEVER = Waited.IMPOSSIBLE


_TIMED_OUT = replace(
    an_instance(State.FAILED), health=HealthPolicy(), error=a_failure(FailureCode.HEALTH_CHECK_TIMEOUT)
)


def _verdict(instance: Instance, wait_for: WaitFor) -> Waited | None:
    row = InstanceRow(instance)
    return verdict_of(row, row, wait_for)


@pytest.mark.parametrize(
    ("state", "ready", "running", "exited", "terminated"),
    [
        (State.CREATING, _GOES_ON, _GOES_ON, _GOES_ON, _GOES_ON),
        (State.STARTING, _GOES_ON, _GOES_ON, _GOES_ON, _GOES_ON),
        (State.RUNNING, _IS_SO, _IS_SO, _GOES_ON, _GOES_ON),
        (State.HEALTH_CHECKING, _GOES_ON, _IS_SO, _GOES_ON, _GOES_ON),
        (State.READY, _IS_SO, _IS_SO, _GOES_ON, _GOES_ON),
        (State.STOPPING, _NEVER, _NEVER, _GOES_ON, _GOES_ON),
        (State.EXITED, _NEVER, _NEVER, _IS_SO, _GOES_ON),
        (State.MIGRATING, _GOES_ON, _GOES_ON, _GOES_ON, _GOES_ON),
        (State.FAILED, _NEVER, _NEVER, _GOES_ON, _GOES_ON),
        (State.TERMINATING, _NEVER, _NEVER, _NEVER, _GOES_ON),
        (State.TERMINATED, _NEVER, _NEVER, _NEVER, _IS_SO),
    ],
)
def test_each_state_answers_each_wait(
    state: State, ready: object, running: object, exited: object, terminated: object
) -> None:
    instance = an_instance(state)
    assert _verdict(instance, WaitFor.READY) is ready
    assert _verdict(instance, WaitFor.RUNNING) is running
    assert _verdict(instance, WaitFor.EXITED) is exited
    assert _verdict(instance, WaitFor.TERMINATED) is terminated


@pytest.mark.parametrize(
    ("on_reclaim", "expected"), [(OnReclaim.MIGRATE, _GOES_ON), (OnReclaim.NONE, _NEVER)]
)
def test_what_was_taken_back_is_waited_for_as_long_as_it_comes_back(
    on_reclaim: OnReclaim, expected: object
) -> None:
    spec = replace(a_spec(), on_reclaim=on_reclaim)
    reclaimed = replace(an_instance(State.EXITED, spec), is_reclaimed=True, wanted=Wanted.RUNNING)
    assert _verdict(reclaimed, WaitFor.READY) is expected


def test_nothing_more_is_waited_for_of_what_is_gone() -> None:
    gone = InstanceRow(an_instance(State.TERMINATED))
    assert verdict_of(gone, gone, WaitFor.CHANGED) is _NEVER
    assert verdict_of(InstanceRow(an_instance(State.TERMINATING)), gone, WaitFor.CHANGED) is _IS_SO


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (_TIMED_OUT, _GOES_ON),
        (replace(_TIMED_OUT, health=HealthPolicy(interval=timedelta())), _NEVER),
        (replace(_TIMED_OUT, upstream_state=UpstreamState.EXITED), _NEVER),
        (replace(_TIMED_OUT, error=a_failure(FailureCode.HEALTH_CHECK_FAILED)), _NEVER),
        (unplaced(_TIMED_OUT), _NEVER),
    ],
    ids=[
        "it is probed",
        "it is never probed",
        "it has stopped",
        "there is nothing to check",
        "it is nowhere",
    ],
)
def test_a_start_whose_checks_took_too_long_may_answer_after_all(
    instance: Instance, expected: object
) -> None:
    assert _verdict(instance, WaitFor.READY) is expected


def test_a_change_is_anything_that_is_told_but_when_it_was_seen() -> None:
    first = InstanceRow(an_instance(State.STARTING), sequence=3)
    seen_again = replace(first.instance, observed_at=EPOCH, version=7)
    assert verdict_of(first, replace(first, instance=seen_again), WaitFor.CHANGED) is None
    assert verdict_of(first, replace(first, last_used_at=EPOCH), WaitFor.CHANGED) is _IS_SO
    word = replace(first.instance, upstream_word="pulling")
    assert verdict_of(first, replace(first, instance=word), WaitFor.CHANGED) is _IS_SO
    assert verdict_of(first, replace(first, changed_at=None), WaitFor.CHANGED) is None
    assert verdict_of(first, replace(first, sequence=4), WaitFor.CHANGED) is _IS_SO
    assert verdict_of(first, replace(first, instance=an_instance()), WaitFor.CHANGED) is _IS_SO
