"""The conflict matrix: every verb × open operation × state, against a grid written by hand."""

from dataclasses import replace

import pytest

from ostler.domain.conflicts import (
    Accept,
    Conflict,
    Decision,
    NothingToDo,
    SameOperation,
    Situation,
    Verb,
    decide,
    situation,
)
from ostler.domain.lifecycle import Event, State, has_arrow
from ostler.domain.operations import OperationKind
from ostler.domain.phases import Wanted
from tests.support.builders import an_instance, unplaced

# A accepted and the state moves · r accepted and remembered · s the same operation · . nothing to do
# b OPERATION_IN_PROGRESS · u STARTUP_OPERATION_IN_PROGRESS · x not startable · y not stoppable
# Columns: the states in the order of their definition, `creating` first and `terminated` last
STATES = list(State)
GRIDS = {
    Verb.START: """
        none    x x x x x x A x x x x
        create  x x x x x x x x x x x
        start   u u u u u u u u u u u
        stop    b b b b b b b b b b b
        restart b b b b b b b b b b b
        delete  b b b b b b b b b b b
        migrate b b b b b b b b b b b""",
    Verb.STOP: """
        none    r A A A A r . y A y y
        create  r A A A A r . y A y y
        start   r A A A A r . y A y y
        stop    s s s s s s s s s s s
        restart r A A A A r . y A y y
        delete  b b b b b b b b b b b
        migrate b b b b b b b b b b b""",
    Verb.RESTART: """
        none    x x A A A x x x A x x
        create  b b b b b b b b b b b
        start   b b b b b b b b b b b
        stop    b b b b b b b b b b b
        restart s s s s s s s s s s s
        delete  b b b b b b b b b b b
        migrate b b b b b b b b b b b""",
    Verb.DELETE: """
        none    A A A A A A A A A r .
        create  A A A A A A A A A r .
        start   A A A A A A A A A r .
        stop    A A A A A A A A A r .
        restart A A A A A A A A A r .
        delete  s s s s s s s s s s s
        migrate A A A A A A A A A r .""",
    Verb.MIGRATE: """
        none    x x A A A x A x x x x
        create  b b b b b b b b b b b
        start   b b b b b b b b b b b
        stop    b b b b b b b b b b b
        restart b b b b b b b b b b b
        delete  b b b b b b b b b b b
        migrate s s s s s s s s s s s""",
}
CASES = [
    (verb, None if row[0] == "none" else OperationKind(row[0]), state, letter)
    for verb, grid in GRIDS.items()
    for row in (line.split() for line in grid.strip().splitlines())
    for state, letter in zip(STATES, row[1:], strict=True)
]
CONFLICTS = {
    "OPERATION_IN_PROGRESS": "b",
    "STARTUP_OPERATION_IN_PROGRESS": "u",
    "INSTANCE_NOT_STARTABLE": "x",
    "INSTANCE_NOT_STOPPABLE": "y",
}


def letter_of(decision: Decision) -> str:
    match decision:
        case Accept(event, _):
            return "r" if event is None else "A"
        case SameOperation():
            return "s"
        case NothingToDo():
            return "."
        case Conflict(code):
            return CONFLICTS[code.value]


def test_the_grid_covers_every_verb_open_operation_and_state() -> None:
    assert len(CASES) == len(set(CASES)) == len(Verb) * (len(OperationKind) + 1) * len(State)


@pytest.mark.parametrize(("verb", "open_kind", "state", "letter"), CASES)
def test_every_verb_in_every_situation(
    verb: Verb, open_kind: OperationKind | None, state: State, letter: str
) -> None:
    decision = decide(verb, Situation(state, open_kind))

    assert letter_of(decision) == letter
    if isinstance(decision, Accept):
        assert decision.supersedes is (open_kind is not None)
        assert decision.event is None or has_arrow(state, decision.event)


@pytest.mark.parametrize(
    ("verb", "state", "event"),
    [
        (Verb.START, State.EXITED, Event.START),
        (Verb.STOP, State.READY, Event.STOP),
        (Verb.RESTART, State.RUNNING, Event.RESTART),
        (Verb.MIGRATE, State.EXITED, Event.MIGRATE),
        (Verb.DELETE, State.CREATING, Event.DELETE),
        (Verb.DELETE, State.FAILED, Event.DELETE),
    ],
)
def test_an_accepted_verb_takes_its_own_arrow(verb: Verb, state: State, event: Event) -> None:
    assert decide(verb, Situation(state)) == Accept(event)


def test_starting_what_was_reclaimed_migrates_it() -> None:
    assert decide(Verb.START, Situation(State.EXITED, is_reclaimed=True)) == Accept(Event.MIGRATE)


def test_a_failed_instance_starts_only_when_its_upstream_has_stopped() -> None:
    assert decide(Verb.START, Situation(State.FAILED, is_upstream_stopped=True)) == Accept(Event.START)
    assert letter_of(decide(Verb.START, Situation(State.FAILED))) == "x"


@pytest.mark.parametrize(
    ("verb", "letter"), [(Verb.START, "x"), (Verb.STOP, "y"), (Verb.RESTART, "x"), (Verb.MIGRATE, "x")]
)
def test_a_failed_instance_without_upstream_can_only_be_deleted(verb: Verb, letter: str) -> None:
    nothing_there = Situation(State.FAILED, has_upstream=False, is_upstream_stopped=True)
    assert letter_of(decide(verb, nothing_there)) == letter
    assert decide(Verb.DELETE, nothing_there) == Accept(Event.DELETE_UNPLACED)


def test_a_stop_that_came_before_anything_was_placed_may_be_repeated() -> None:
    called_off = replace(unplaced(an_instance(State.FAILED)), wanted=Wanted.STOPPED)
    assert decide(Verb.STOP, situation(called_off, None)) == NothingToDo()
    assert decide(Verb.DELETE, situation(called_off, None)) == Accept(Event.DELETE_UNPLACED)


def test_a_situation_is_read_from_the_instance() -> None:
    seen = situation(an_instance(State.EXITED), OperationKind.STOP)
    assert seen == Situation(
        State.EXITED,
        OperationKind.STOP,
        has_upstream=True,
        is_upstream_stopped=True,
        is_stop_wanted=True,
    )
    assert not situation(unplaced(an_instance(State.FAILED)), None).has_upstream
