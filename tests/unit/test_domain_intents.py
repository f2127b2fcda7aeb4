"""What an accepted verb makes of an instance, at once and later."""

from dataclasses import replace

import pytest

from ostler.domain.conflicts import Accept, Verb
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change
from ostler.domain.intents import Order, intend
from ostler.domain.lifecycle import Event, State
from ostler.domain.outcomes import (
    placed,
)
from ostler.domain.phases import (
    StartingPhase,
    StopReason,
    Wanted,
)
from ostler.domain.work import WorkKind
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    UPSTREAM_ID,
    a_failure,
    after,
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


def test_a_stop_while_creating_is_remembered_and_follows_placement() -> None:
    order = Order(Verb.STOP, NOW, StopReason.BUDGET)
    remembered = intend(an_instance(State.CREATING), Accept(None), order)
    change = placed(remembered.instance, UPSTREAM_ID, after(1))

    assert remembered.instance.state is State.CREATING
    assert remembered.instance.wanted is Wanted.STOPPED
    assert (told(remembered), asked(remembered)) == ([], [WorkKind.CREATE])
    assert change.instance.state is State.STOPPING
    assert change.instance.stop_reason is StopReason.BUDGET
    assert told(change) == ["instance.placed", "instance.starting", "instance.stopping"]
    assert asked(change) == [WorkKind.STOP]


def test_a_delete_while_creating_still_removes_what_the_cloud_made() -> None:
    deleting = intend(an_instance(State.CREATING), Accept(Event.DELETE), Order(Verb.DELETE, NOW)).instance
    change = placed(deleting, UPSTREAM_ID, after(1))

    assert change.instance.state is State.TERMINATING
    assert change.instance.upstream_id == UPSTREAM_ID
    assert asked(change) == [WorkKind.DELETE]


@pytest.mark.parametrize(
    ("verb", "event", "before", "state", "wanted", "work"),
    [
        (Verb.START, Event.START, State.EXITED, State.STARTING, Wanted.RUNNING, WorkKind.START),
        (Verb.START, Event.MIGRATE, State.EXITED, State.MIGRATING, Wanted.RUNNING, WorkKind.MIGRATE),
        (Verb.STOP, Event.STOP, State.RUNNING, State.STOPPING, Wanted.STOPPED, WorkKind.STOP),
        (Verb.RESTART, Event.RESTART, State.READY, State.STARTING, Wanted.RUNNING, WorkKind.RESTART),
        (Verb.MIGRATE, Event.MIGRATE, State.RUNNING, State.MIGRATING, Wanted.RUNNING, WorkKind.MIGRATE),
        (Verb.DELETE, Event.DELETE, State.READY, State.TERMINATING, Wanted.TERMINATED, WorkKind.DELETE),
    ],
)
def test_an_accepted_verb_moves_the_state_and_asks_for_its_work(  # noqa: PLR0913, PLR0917 -- the columns of the table
    verb: Verb, event: Event, before: State, state: State, wanted: Wanted, work: WorkKind
) -> None:
    change = intend(an_instance(before), Accept(event), Order(verb, after(1)))

    assert (change.instance.state, change.instance.wanted) == (state, wanted)
    assert asked(change) == [work]
    assert told(change) == [f"instance.{state.value}"]


@pytest.mark.parametrize("event", [Event.START, Event.MIGRATE])
def test_a_start_begins_anew_and_is_not_usable_yet(event: Event) -> None:
    stopped = replace(an_instance(State.EXITED), ready_at=NOW, first_ready_at=NOW, error=a_failure())
    order = Order(Verb.START, after(1), health=HealthPolicy(target_port=80))
    instance = intend(stopped, Accept(event), order).instance

    assert instance.starts == 2
    assert instance.start_began_at == after(1)
    assert instance.ready_at is None
    assert instance.error is None
    assert instance.first_ready_at == NOW
    assert instance.health == HealthPolicy(target_port=80)


def test_a_restart_boots_and_does_not_provision() -> None:
    change = intend(an_instance(State.RUNNING), Accept(Event.RESTART), Order(Verb.RESTART, NOW))
    assert change.instance.phase is StartingPhase.BOOTING


def test_a_stop_keeps_its_reason_and_what_was_usable() -> None:
    order = Order(Verb.STOP, after(1), StopReason.IDLE, why="nobody used it")
    change = intend(an_instance(State.READY), Accept(Event.STOP), order)
    assert change.instance.stop_reason is StopReason.IDLE
    assert change.instance.health is not None
    assert (change.instance.starts, change.instance.ready_at) == (1, NOW)
    assert not change.instance.is_usable
    assert change.events[0].reason == "nobody used it"


def test_deleting_what_never_had_an_upstream_ends_it_at_once() -> None:
    failed = unplaced(an_instance(State.FAILED))
    change = intend(failed, Accept(Event.DELETE_UNPLACED), Order(Verb.DELETE, NOW))
    assert change.instance.state is State.TERMINATED
    assert change.work == ()


@pytest.mark.parametrize(
    ("verb", "state", "work"),
    [(Verb.STOP, State.STOPPING, WorkKind.STOP), (Verb.DELETE, State.TERMINATING, WorkKind.DELETE)],
)
def test_a_verb_that_is_being_met_already_is_seen_through(verb: Verb, state: State, work: WorkKind) -> None:
    change = intend(an_instance(state), Accept(None), Order(verb, NOW))
    assert change.instance.state is state
    assert asked(change) == [work]
