"""The table of arrows, pair by pair, against the table of the design written out once more by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.diagram import event_table, state_diagram
from ostler.domain.events import PublicEvent
from ostler.domain.lifecycle import (
    Event,
    NoArrowError,
    State,
    adopted_state,
    advance,
    has_arrow,
    is_billable,
    sight_event,
    transitions,
)
from ostler.domain.phases import PhaseError, StartingPhase, phase_of, seen_phase
from ostler.domain.upstream import UpstreamState

IN_SERVICE = """stop>stopping, restart>starting, migrate>migrating, delete>terminating,
    seen stopping>stopping, seen exited>exited, seen migrating>migrating"""
DESIGN = {
    "creating": "placed>starting, not placed>failed, delete>terminating",
    "starting": """seen running>running, startup deadline>failed, startup failed>failed, seen exited>exited,
        start gave up>exited, stop>stopping, delete>terminating""",
    "running": f"check wanted>health_checking, {IN_SERVICE}",
    "health_checking": f"all healthy>ready, health deadline>failed, {IN_SERVICE}",
    "ready": f"three failed probes>health_checking, {IN_SERVICE}",
    "stopping": "seen exited>exited, delete>terminating",
    "exited": "start>starting, migrate>migrating, seen running>running, delete>terminating",
    "migrating": "seen running>running, seen exited>exited, migration failed>exited, delete>terminating",
    "failed": """stop>stopping, start>starting, restart>starting, all healthy>ready, seen exited>exited,
        delete>terminating, delete without upstream>terminated""",
    "terminating": "",
    "terminated": "seen again>terminating",
}
MAY_BE_SEEN_REMOVING = set(State) - {State.CREATING, State.TERMINATING, State.TERMINATED}
PAIRS = [(state, event) for state in State for event in Event]


def expected_target(state: State, event: Event) -> State | None:
    if event is Event.GONE:
        return None if state is State.TERMINATED else State.TERMINATED
    if event is Event.SEEN_REMOVING:
        return State.TERMINATING if state in MAY_BE_SEEN_REMOVING else None
    written = [entry.strip() for entry in DESIGN[state].split(",") if entry.strip()]
    arrows = dict(entry.split(">") for entry in written)
    word = arrows.get(event.value)
    return None if word is None else State(word)


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_every_pair_of_state_and_event_does_what_the_design_says(state: State, event: Event) -> None:
    target = expected_target(state, event)
    if target is not None:
        assert advance(state, event).target is target
        assert has_arrow(state, event)
        return
    assert not has_arrow(state, event)
    with pytest.raises(NoArrowError) as refused:
        advance(state, event)
    assert repr(state.value) in str(refused.value)
    assert repr(event.value) in str(refused.value)


@given(st.lists(st.sampled_from(Event)))
def test_no_sequence_of_events_reaches_terminated_without_the_clouds_word(events: list[Event]) -> None:
    """The word is "gone", or, for a create of which nothing was ever made, its refusal before a delete."""
    state, was_placed = State.CREATING, False
    for event in events:
        if not has_arrow(state, event) or (event is Event.DELETE_UNPLACED and was_placed):
            continue
        state = advance(state, event).target
        was_placed = was_placed or event is Event.PLACED
        if state is State.TERMINATED:
            assert event in {Event.GONE, Event.DELETE_UNPLACED}


def test_every_transition_is_told_under_the_name_of_the_state_that_it_enters() -> None:
    for arrow in transitions():
        assert arrow.emits[-1].value == f"instance.{arrow.target.value}"


def test_placement_migration_and_resurrection_say_more_than_the_state() -> None:
    assert advance(State.CREATING, Event.PLACED).emits == (PublicEvent.PLACED, PublicEvent.STARTING)
    assert advance(State.MIGRATING, Event.SEEN_RUNNING).emits == (PublicEvent.MIGRATED, PublicEvent.RUNNING)
    again = advance(State.TERMINATED, Event.SEEN_AGAIN)
    assert again.emits == (PublicEvent.DELETE_STUCK, PublicEvent.TERMINATING)


def test_only_what_is_seen_again_after_its_end_is_an_alarm() -> None:
    assert [arrow.event for arrow in transitions() if arrow.is_alarm] == [Event.SEEN_AGAIN]


def test_only_running_and_ready_may_be_told_as_usable() -> None:
    usable = {(arrow.event, arrow.target) for arrow in transitions() if PublicEvent.USABLE in arrow.may_emit}
    assert usable == {(Event.SEEN_RUNNING, State.RUNNING), (Event.HEALTHY, State.READY)}


def test_every_state_but_the_first_and_the_last_may_cost_money() -> None:
    assert {state for state in State if not is_billable(state)} == {State.CREATING, State.TERMINATED}


@pytest.mark.parametrize("upstream", UpstreamState)
@pytest.mark.parametrize("state", State)
def test_a_sight_is_an_event_only_where_an_arrow_waits_for_it(state: State, upstream: UpstreamState) -> None:
    event = sight_event(state, upstream)
    assert event is None or has_arrow(state, event)


@pytest.mark.parametrize(
    ("state", "upstream", "event"),
    [
        (State.STARTING, UpstreamState.RUNNING, Event.SEEN_RUNNING),
        (State.RUNNING, UpstreamState.STOPPING, Event.SEEN_STOPPING),
        (State.READY, UpstreamState.EXITED, Event.SEEN_EXITED),
        (State.RUNNING, UpstreamState.FROZEN, Event.SEEN_EXITED),
        (State.RUNNING, UpstreamState.MIGRATING, Event.SEEN_MIGRATING),
        (State.EXITED, UpstreamState.REMOVING, Event.SEEN_REMOVING),
        (State.EXITED, UpstreamState.REMOVED, Event.SEEN_REMOVING),
        (State.EXITED, UpstreamState.RUNNING, Event.SEEN_RUNNING),
        (State.TERMINATED, UpstreamState.RUNNING, Event.SEEN_AGAIN),
        (State.TERMINATED, UpstreamState.UNKNOWN, Event.SEEN_AGAIN),
        (State.TERMINATED, UpstreamState.REMOVING, None),
        (State.RUNNING, UpstreamState.RUNNING, None),
        (State.RUNNING, UpstreamState.UNKNOWN, None),
        (State.FAILED, UpstreamState.RUNNING, None),
        (State.TERMINATING, UpstreamState.RUNNING, None),
    ],
)
def test_what_a_sight_means_depends_on_the_state(
    state: State, upstream: UpstreamState, event: Event | None
) -> None:
    assert sight_event(state, upstream) is event


@pytest.mark.parametrize(
    ("upstream", "state"),
    [
        (UpstreamState.PULLING, State.STARTING),
        (UpstreamState.RUNNING, State.RUNNING),
        (UpstreamState.FROZEN, State.EXITED),
        (UpstreamState.REMOVING, State.TERMINATING),
        (UpstreamState.UNKNOWN, State.STARTING),
    ],
)
def test_an_adopted_upstream_gets_the_state_that_it_shows(upstream: UpstreamState, state: State) -> None:
    assert adopted_state(upstream) is state


def test_the_diagram_shows_every_state_and_every_arrow_once() -> None:
    drawn = state_diagram()
    for arrow in transitions():
        line = next(
            line for line in drawn.splitlines() if line.startswith(f"    {arrow.source} --> {arrow.target}:")
        )
        assert arrow.event.value in line.partition(": ")[2].split(" · ")
    assert drawn.count("-->") == 1 + len({(arrow.source, arrow.target) for arrow in transitions()})


def test_the_table_of_events_has_a_row_for_every_arrow() -> None:
    rows = event_table().splitlines()[2:]
    assert len(rows) == len(transitions())
    assert "| `creating` | placed | `starting` | `instance.placed`, `instance.starting` |" in rows
    assert (
        "| `starting` | seen running | `running` | `instance.running`, `instance.usable` once per start |"
        in rows
    )


def test_a_phase_belongs_to_its_state() -> None:
    assert phase_of(State.STARTING, "pulling") is StartingPhase.PULLING
    assert phase_of(State.RUNNING, None) is None
    for state, word in ((State.RUNNING, "pulling"), (State.STARTING, "queued")):
        with pytest.raises(PhaseError, match=word):
            phase_of(state, word)


def test_a_start_shows_how_far_the_cloud_is() -> None:
    assert seen_phase(UpstreamState.PULLING) is StartingPhase.PULLING
    assert seen_phase(UpstreamState.RUNNING) is None
