"""What a believed sight does to a row, and what an unbelieved one leaves alone."""

from dataclasses import replace

import pytest

from ostler.domain.failures import FailureCode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change
from ostler.domain.lifecycle import State
from ostler.domain.observation import adopted, seen
from ostler.domain.phases import StartingPhase, StopReason, TerminatingPhase, Wanted
from ostler.domain.sightings import Command
from ostler.domain.spec import OnFailure, OnReclaim
from ostler.domain.upstream import UpstreamState
from ostler.domain.work import WorkKind
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    UPSTREAM_ID,
    a_failure,
    a_sight,
    a_spec,
    after,
    an_instance,
)

RECLAIMED = replace(a_sight(UpstreamState.EXITED), is_reclaimed=True, reclaim_at=NOW)


def told(change: Change) -> list[str]:
    return [draft.name.value for draft in change.events]


def asked(change: Change) -> list[WorkKind]:
    return [work.kind for work in change.work]


def test_a_start_that_is_seen_running_is_usable_at_once_without_a_check() -> None:
    change = seen(an_instance(State.STARTING), a_sight(), after(2))

    assert change.instance.state is State.RUNNING
    assert change.instance.phase is None
    assert change.instance.ready_at == change.instance.first_ready_at == after(2)
    assert change.instance.observed_at == after(1)
    assert told(change) == ["instance.running", "instance.usable"]


def test_a_start_that_wants_a_check_goes_on_to_be_checked() -> None:
    change = seen(replace(an_instance(State.STARTING), health=HealthPolicy()), a_sight(), after(2))

    assert change.instance.state is State.HEALTH_CHECKING
    assert change.instance.ready_at is None
    assert told(change) == ["instance.running", "instance.health_checking"]
    assert asked(change) == [WorkKind.CHECK_HEALTH]


def test_running_in_a_list_only_asks_for_the_connection_details() -> None:
    change = seen(an_instance(State.STARTING), replace(a_sight(), is_detailed=False), after(2))
    assert change.instance.state is State.STARTING
    assert asked(change) == [WorkKind.REFRESH]
    assert change.events == ()


def test_the_same_sight_twice_is_news_once() -> None:
    once = seen(an_instance(State.STARTING), a_sight(), after(2)).instance
    assert seen(once, a_sight(), after(3)) == Change(once)


def test_a_page_fetched_before_the_stop_does_not_move_the_row_after_it() -> None:
    starting = replace(an_instance(State.STARTING), command=Command(after(2), after(3), UpstreamState.EXITED))
    change = seen(starting, a_sight(UpstreamState.EXITED, 1), after(4))
    assert change == Change(starting)


def test_not_yet_dates_the_row_and_moves_nothing() -> None:
    starting = replace(an_instance(State.STARTING), command=Command(after(0), after(1), UpstreamState.EXITED))
    change = seen(starting, a_sight(UpstreamState.EXITED, 5), after(6))
    assert change.instance == replace(starting, observed_at=after(5))


def test_a_sight_of_another_upstream_is_not_this_rows_matter() -> None:
    instance = an_instance(State.RUNNING)
    other = replace(a_sight(UpstreamState.EXITED), upstream_id="fedcba")
    assert seen(instance, other, after(2)) == Change(instance)


@pytest.mark.parametrize(
    ("upstream", "phase"),
    [
        (UpstreamState.PROVISIONING, StartingPhase.PROVISIONING),
        (UpstreamState.PULLING, StartingPhase.PULLING),
        (UpstreamState.BOOTING, StartingPhase.BOOTING),
        (UpstreamState.UNKNOWN, StartingPhase.BOOTING),
    ],
)
def test_a_start_shows_its_phase(upstream: UpstreamState, phase: StartingPhase) -> None:
    change = seen(an_instance(State.STARTING), a_sight(upstream), after(2))
    assert change.instance.state is State.STARTING
    assert change.instance.phase is phase


def test_a_start_elsewhere_does_not_give_a_phase_to_a_state_without_one() -> None:
    change = seen(an_instance(State.EXITED), a_sight(UpstreamState.BOOTING), after(2))
    assert (change.instance.state, change.instance.phase) == (State.EXITED, None)


def test_an_unknown_word_is_shown_and_told_once() -> None:
    strange = replace(a_sight(UpstreamState.UNKNOWN), word="hibernating")
    first = seen(an_instance(State.RUNNING), strange, after(2))
    second = seen(first.instance, replace(strange, requested_at=after(3)), after(4))

    assert first.instance.state is State.RUNNING
    assert first.instance.upstream_word == "hibernating"
    assert told(first) == ["instance.upstream_unknown"]
    assert told(second) == []


def test_our_stop_keeps_its_reason() -> None:
    stopping = replace(an_instance(State.STOPPING), stop_reason=StopReason.TTL)
    change = seen(stopping, a_sight(UpstreamState.EXITED), after(2))
    assert change.instance.state is State.EXITED
    assert change.instance.stop_reason is StopReason.TTL


@pytest.mark.parametrize(
    ("on_failure", "state"),
    [
        (OnFailure.DELETE, State.TERMINATING),
        (OnFailure.STOP, State.STOPPING),
        (OnFailure.KEEP, State.FAILED),
    ],
)
def test_a_create_that_the_cloud_gave_up_has_failed_with_the_clouds_words(
    on_failure: OnFailure, state: State
) -> None:
    creating = an_instance(State.STARTING, replace(a_spec(), on_failure=on_failure))
    sight = replace(a_sight(UpstreamState.EXITED), failure="no such image")
    change = seen(creating, sight, after(2)).instance
    assert change.state is state
    assert change.error is not None
    assert change.error.code is FailureCode.STARTUP_FAILED
    assert "no such image" in change.error.message


@pytest.mark.parametrize("state", [State.STARTING, State.MIGRATING])
def test_what_stops_before_it_ran_again_is_stopped_and_says_why(state: State) -> None:
    again = replace(an_instance(state), starts=2, first_ready_at=NOW)
    change = seen(again, a_sight(UpstreamState.EXITED), after(2)).instance
    assert change.state is State.EXITED
    assert change.error is not None
    assert change.error.code is FailureCode.STARTUP_FAILED


@pytest.mark.parametrize("upstream", [UpstreamState.EXITED, UpstreamState.FROZEN])
def test_a_stop_that_nobody_here_asked_for_is_the_platforms(upstream: UpstreamState) -> None:
    change = seen(an_instance(State.READY), a_sight(upstream), after(2))
    assert change.instance.state is State.EXITED
    assert change.instance.stop_reason is StopReason.PLATFORM
    assert change.work == ()


@pytest.mark.parametrize("policy", [OnReclaim.MIGRATE, OnReclaim.RECREATE])
def test_a_reclaimed_instance_that_is_wanted_is_recovered_at_once(policy: OnReclaim) -> None:
    running = an_instance(State.RUNNING, replace(a_spec(), on_reclaim=policy))
    change = seen(running, RECLAIMED, after(2))

    assert change.instance.stop_reason is StopReason.SPOT_RECLAIMED
    assert change.instance.is_reclaimed
    assert asked(change) == [WorkKind.RECOVER]


def test_a_reclaimed_instance_is_left_alone_when_its_owner_says_so() -> None:
    unloved = an_instance(State.RUNNING, replace(a_spec(), on_reclaim=OnReclaim.NONE))
    assert seen(unloved, RECLAIMED, after(2)).work == ()


def test_a_reclaim_of_what_its_owner_stopped_is_only_noted() -> None:
    stopped = replace(an_instance(State.EXITED), stop_reason=StopReason.USER)
    change = seen(stopped, RECLAIMED, after(2))
    assert change.instance.is_reclaimed
    assert change.instance.stop_reason is StopReason.USER
    assert change.work == ()


def test_a_reclaim_that_shows_after_the_exit_is_recovered_once() -> None:
    exited = replace(an_instance(State.EXITED), wanted=Wanted.RUNNING, stop_reason=StopReason.PLATFORM)
    first = seen(exited, RECLAIMED, after(2))
    second = seen(first.instance, replace(RECLAIMED, requested_at=after(3)), after(4))

    assert first.instance.stop_reason is StopReason.SPOT_RECLAIMED
    assert asked(first) == [WorkKind.RECOVER]
    assert asked(second) == []


def test_a_reclaim_notice_is_told_once_before_it_happens() -> None:
    notice = replace(a_sight(), reclaim_at=after(3600))
    first = seen(an_instance(State.READY), notice, after(2))
    second = seen(first.instance, replace(notice, requested_at=after(3)), after(4))

    assert told(first) == ["instance.spot_notice"]
    assert list(first.events[0].details) == ["reclaimAt"]
    assert first.instance.reclaim_at == after(3600)
    assert told(second) == []
    assert told(seen(an_instance(State.READY), RECLAIMED, after(2))) == ["instance.exited"]


def test_what_was_started_elsewhere_is_a_start_of_its_own() -> None:
    exited = replace(an_instance(State.EXITED), ready_at=NOW, stop_reason=StopReason.USER, is_reclaimed=True)
    change = seen(exited, a_sight(), after(2))

    assert change.instance.state is State.RUNNING
    assert change.instance.starts == 2
    assert change.instance.ready_at == after(2)
    assert change.instance.wanted is Wanted.RUNNING
    assert change.instance.stop_reason is None
    assert not change.instance.is_reclaimed
    assert told(change) == ["instance.running", "instance.usable"]


def test_a_finished_migration_is_told_and_usable() -> None:
    migrating = replace(an_instance(State.MIGRATING), ready_at=None, predecessor_id="old")
    change = seen(migrating, a_sight(), after(2))
    assert told(change) == ["instance.migrated", "instance.running", "instance.usable"]
    assert asked(change) == [WorkKind.CLEAR_PREDECESSOR]


def test_a_migration_by_the_cloud_is_a_new_start() -> None:
    change = seen(an_instance(State.READY), a_sight(UpstreamState.MIGRATING), after(2))
    assert change.instance.state is State.MIGRATING
    assert change.instance.ready_at is None
    assert change.instance.starts == 2


def test_a_removal_elsewhere_is_seen_as_terminating() -> None:
    change = seen(an_instance(State.READY), a_sight(UpstreamState.REMOVING), after(2))
    assert change.instance.state is State.TERMINATING
    assert change.instance.phase is TerminatingPhase.DELETING


def test_a_tombstone_that_is_seen_again_is_an_alarm_and_deleted_again() -> None:
    change = seen(an_instance(State.TERMINATED), a_sight(), after(2))

    assert change.instance.state is State.TERMINATING
    assert told(change) == ["instance.delete_stuck", "instance.terminating"]
    assert all(draft.is_alarm for draft in change.events)
    assert asked(change) == [WorkKind.DELETE]


def test_a_failed_instance_that_runs_stays_failed_until_it_answers() -> None:
    failed = replace(an_instance(State.FAILED), error=a_failure())
    change = seen(failed, a_sight(), after(2))
    assert change.instance.state is State.FAILED
    assert change.events == ()


@pytest.mark.parametrize(
    ("upstream", "state", "wanted"),
    [
        (UpstreamState.RUNNING, State.RUNNING, Wanted.RUNNING),
        (UpstreamState.PULLING, State.STARTING, Wanted.RUNNING),
        (UpstreamState.EXITED, State.EXITED, Wanted.STOPPED),
        (UpstreamState.REMOVING, State.TERMINATING, Wanted.TERMINATED),
    ],
)
def test_an_adopted_orphan_is_a_row_in_the_state_that_it_shows(
    upstream: UpstreamState, state: State, wanted: Wanted
) -> None:
    change = adopted(INSTANCE_ID, a_spec(), a_sight(upstream), after(2))

    assert (change.instance.state, change.instance.wanted) == (state, wanted)
    assert change.instance.upstream_id == UPSTREAM_ID
    assert change.instance.observed_at == after(1)
    assert told(change)[0] == "orphan.adopted"
    assert change.instance.is_usable is (state is State.RUNNING)
    assert asked(change) == ([WorkKind.REFRESH] if state is State.RUNNING else [])
    assert change.instance.stop_reason is (StopReason.PLATFORM if state is State.EXITED else None)


def test_an_adopted_start_is_in_its_phase() -> None:
    assert adopted(INSTANCE_ID, a_spec(), a_sight(UpstreamState.PULLING), NOW).instance.phase is (
        StartingPhase.PULLING
    )
