"""What an instance becomes by what people ask and by what the cloud did or did not do."""

from dataclasses import replace

import pytest

from ostler.domain.events import PublicEvent
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change, Instance, accepted, commanded, in_phase
from ostler.domain.lifecycle import Event, State
from ostler.domain.outcomes import (
    AlreadyPlacedError,
    gone,
    health_judged,
    migration_failed,
    not_placed,
    placed,
    recreated,
    start_failed,
    start_gave_up,
)
from ostler.domain.phases import (
    CreatingPhase,
    PhaseError,
    StartingPhase,
    TerminatingPhase,
    Wanted,
)
from ostler.domain.sightings import Command
from ostler.domain.spec import OnFailure
from ostler.domain.work import WorkKind
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    UPSTREAM_ID,
    a_failure,
    a_spec,
    after,
    an_endpoint,
    an_instance,
    unplaced,
)

FIRST_START = replace(an_instance(State.STARTING), first_ready_at=None)
CHECKING = replace(an_instance(State.HEALTH_CHECKING), ready_at=None, first_ready_at=None)


def told(change: Change) -> list[str]:
    return [draft.name.value for draft in change.events]


def asked(change: Change) -> list[WorkKind]:
    assert {work.instance_id for work in change.work} <= {INSTANCE_ID}
    return [work.kind for work in change.work]


def test_an_accepted_request_is_an_instance_that_waits_to_be_created() -> None:
    change = accepted(INSTANCE_ID, a_spec(), HealthPolicy(), NOW)

    assert change.instance.state is State.CREATING
    assert change.instance.phase is CreatingPhase.QUEUED
    assert change.instance.health == HealthPolicy()
    assert told(change) == ["instance.creating"]
    assert asked(change) == [WorkKind.CREATE]


def test_placement_starts_the_clock() -> None:
    change = placed(an_instance(State.CREATING), UPSTREAM_ID, NOW)

    assert change.instance.state is State.STARTING
    assert change.instance.phase is StartingPhase.PROVISIONING
    assert change.instance.upstream_id == UPSTREAM_ID
    assert change.instance.start_began_at == change.instance.placed_at == change.instance.observed_at == NOW
    assert change.instance.starts == 1
    assert told(change) == ["instance.placed", "instance.starting"]
    assert asked(change) == []


def test_placing_twice_is_placing_once() -> None:
    once = placed(an_instance(State.CREATING), UPSTREAM_ID, NOW).instance
    assert placed(once, UPSTREAM_ID, after(5)) == Change(once)


def test_a_second_upstream_never_replaces_the_first() -> None:
    with pytest.raises(AlreadyPlacedError, match=f"{UPSTREAM_ID}, not fedcba"):
        placed(an_instance(State.RUNNING), "fedcba", NOW)


def test_what_surfaces_after_the_create_had_failed_is_removed() -> None:
    failed = unplaced(an_instance(State.FAILED))
    change = placed(failed, UPSTREAM_ID, after(90))

    assert change.instance.state is State.TERMINATING
    assert change.instance.upstream_id == UPSTREAM_ID
    assert asked(change) == [WorkKind.DELETE]


def test_a_create_that_came_to_nothing_has_failed_and_costs_nothing() -> None:
    change = not_placed(an_instance(State.CREATING), a_failure())

    assert change.instance.state is State.FAILED
    assert change.instance.error is not None
    assert not change.instance.error.still_billed
    assert told(change) == ["instance.failed"]


def test_a_create_that_came_to_nothing_while_being_deleted_is_terminated() -> None:
    deleting = unplaced(an_instance(State.TERMINATING))
    assert not_placed(deleting, a_failure()).instance.state is State.TERMINATED


def test_a_failed_create_says_nothing_of_an_instance_that_is_placed() -> None:
    for state in (State.TERMINATING, State.RUNNING):
        instance = an_instance(state)
        assert not_placed(instance, a_failure()) == Change(instance)


@pytest.mark.parametrize(
    ("policy", "state", "wanted", "work"),
    [
        (OnFailure.DELETE, State.TERMINATING, Wanted.TERMINATED, [WorkKind.DELETE]),
        (OnFailure.STOP, State.STOPPING, Wanted.STOPPED, [WorkKind.STOP]),
        (OnFailure.KEEP, State.FAILED, Wanted.RUNNING, []),
    ],
)
def test_a_create_that_was_never_usable_follows_its_policy(
    policy: OnFailure, state: State, wanted: Wanted, work: list[WorkKind]
) -> None:
    instance = replace(FIRST_START, spec=replace(a_spec(), on_failure=policy))
    change = start_failed(instance, Event.STARTUP_DEADLINE, a_failure())

    assert (change.instance.state, change.instance.wanted) == (state, wanted)
    assert change.instance.error is not None
    assert change.instance.error.still_billed
    assert told(change)[0] == "instance.failed"
    assert asked(change) == work


@pytest.mark.parametrize("instance", [replace(CHECKING, starts=2), replace(CHECKING, first_ready_at=NOW)])
def test_a_later_start_that_fails_keeps_its_upstream(instance: Instance) -> None:
    change = start_failed(instance, Event.HEALTH_DEADLINE, a_failure())
    assert change.instance.state is State.FAILED
    assert change.work == ()


def test_the_health_deadline_is_over_once_this_start_was_usable() -> None:
    instance = replace(an_instance(State.HEALTH_CHECKING), ready_at=NOW)
    assert start_failed(instance, Event.HEALTH_DEADLINE, a_failure()) == Change(instance)


def test_a_deadline_that_comes_too_late_changes_nothing() -> None:
    instance = replace(an_instance(State.RUNNING), ready_at=None)
    assert start_failed(instance, Event.STARTUP_DEADLINE, a_failure()) == Change(instance)


def test_a_start_without_capacity_ends_stopped_with_a_hint() -> None:
    change = start_gave_up(an_instance(State.STARTING), a_failure())

    assert change.instance.state is State.EXITED
    assert change.instance.wanted is Wanted.STOPPED
    assert change.instance.error is not None
    assert "migrate" in change.instance.error.hint
    assert start_gave_up(change.instance, a_failure()) == Change(change.instance)


def test_a_failed_migration_leaves_the_instance_stopped() -> None:
    change = migration_failed(an_instance(State.MIGRATING), a_failure())
    assert change.instance.state is State.EXITED
    assert change.instance.error == a_failure()
    assert migration_failed(change.instance, a_failure()) == Change(change.instance)


@pytest.mark.parametrize("state", State)
def test_gone_ends_every_state_once(state: State) -> None:
    change = gone(replace(an_instance(state), upstream_word="running"), NOW)
    assert change.instance.state is State.TERMINATED
    assert change.instance.upstream_word == ("running" if state is State.TERMINATED else "")
    assert told(change) == ([] if state is State.TERMINATED else ["instance.terminated"])


def test_the_first_healthy_round_makes_the_instance_ready_and_usable() -> None:
    change = health_judged(CHECKING, (an_endpoint(),), after(2))

    assert change.instance.state is State.READY
    assert change.instance.ready_at == change.instance.first_ready_at == after(2)
    assert told(change) == ["instance.ready", "instance.usable"]


def test_recovery_keeps_the_first_ready_instant_and_is_not_usable_news() -> None:
    lost = replace(CHECKING, ready_at=NOW, first_ready_at=NOW, failed_probes=3)
    change = health_judged(lost, (an_endpoint(),), after(9))

    assert change.instance.ready_at == NOW
    assert change.instance.failed_probes == 0
    assert told(change) == ["instance.ready"]


def test_a_failed_instance_that_answers_is_ready_after_all() -> None:
    failed = replace(an_instance(State.FAILED), error=a_failure())
    change = health_judged(failed, (an_endpoint(),), after(9))
    assert change.instance.state is State.READY
    assert change.instance.error is None


def test_a_failed_instance_without_upstream_cannot_answer() -> None:
    failed = unplaced(an_instance(State.FAILED))
    assert health_judged(failed, (an_endpoint(),), after(9)).instance == failed


def test_three_failed_probes_in_a_row_take_readiness_away() -> None:
    bad = (an_endpoint(), an_endpoint(healthy=False))
    change = Change(an_instance(State.READY))
    for seconds in (1, 2):
        change = health_judged(change.instance, bad, after(seconds))
        assert change.instance.state is State.READY
    change = health_judged(change.instance, bad, after(3))

    assert change.instance.state is State.HEALTH_CHECKING
    assert change.instance.ready_at == NOW
    assert told(change) == ["instance.health_checking", "instance.health"]
    assert asked(change) == [WorkKind.CHECK_HEALTH]


def test_one_healthy_probe_begins_the_count_anew() -> None:
    nearly = replace(an_instance(State.READY), failed_probes=2)
    change = health_judged(nearly, (an_endpoint(),), after(1))
    assert change.instance.state is State.READY
    assert change.instance.failed_probes == 0


def test_a_failed_round_before_readiness_changes_nothing() -> None:
    assert health_judged(CHECKING, (an_endpoint(healthy=False),), after(1)) == Change(CHECKING)


def test_an_answer_asked_for_before_this_start_is_not_this_starts() -> None:
    restarted = replace(CHECKING, start_began_at=after(5))
    assert health_judged(restarted, (an_endpoint(seconds=4),), after(6)) == Change(restarted)


def test_the_first_time_that_it_was_ready_is_kept_over_later_starts() -> None:
    later = replace(CHECKING, starts=2, first_ready_at=NOW)
    ready = health_judged(later, (an_endpoint(),), after(9)).instance
    assert (ready.first_ready_at, ready.ready_at) == (NOW, after(9))


def test_a_recreated_instance_keeps_its_old_upstream_until_the_new_one_is_usable() -> None:
    moved = recreated(an_instance(State.MIGRATING), "fedcba", after(1)).instance
    checking = replace(moved, state=State.HEALTH_CHECKING, start_began_at=after(1))
    change = health_judged(checking, (an_endpoint(seconds=2),), after(3))

    assert (moved.upstream_id, moved.predecessor_id) == ("fedcba", UPSTREAM_ID)
    assert asked(change) == [WorkKind.CLEAR_PREDECESSOR]
    assert recreated(moved, "fedcba", after(2)) == Change(moved)


def test_only_a_migration_recreates() -> None:
    instance = an_instance(State.RUNNING)
    assert recreated(instance, "fedcba", after(1)) == Change(instance)


def test_a_phase_of_another_state_is_a_mistake() -> None:
    term = in_phase(an_instance(State.TERMINATING), TerminatingPhase.UNTIL_END_OF_TERM)
    assert term.phase is TerminatingPhase.UNTIL_END_OF_TERM
    with pytest.raises(PhaseError):
        in_phase(an_instance(State.RUNNING), TerminatingPhase.DELETING)


def test_a_command_on_its_way_is_kept_with_the_row() -> None:
    command = Command(NOW)
    assert commanded(an_instance(), command).command == command


def test_changes_follow_one_another() -> None:
    change = Change(an_instance()).telling(PublicEvent.IDLE, "quiet").asking(WorkKind.REFRESH)
    both = change.then(lambda instance: Change(instance).telling(PublicEvent.HEALTH))
    assert told(both) == ["instance.idle", "instance.health"]
    assert asked(both) == [WorkKind.REFRESH]
    assert both.events[0].reason == "quiet"
