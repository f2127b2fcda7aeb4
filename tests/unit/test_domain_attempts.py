"""Attempts: their arrows, who may send, and when a lost one is settled to be absent."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.attempts import (
    ATTEMPT_ARROWS,
    Answer,
    Attempt,
    AttemptEvent,
    AttemptState,
    Look,
    NoAttemptArrowError,
    answered,
    called,
    found,
    is_settled_absent,
    may_send,
    placed,
    settled_absent,
    settles_at,
    taken_over,
    withdrawn,
)
from tests.support.builders import NOW, a_call, after, an_attempt

SETTLE = timedelta(seconds=30)
LOST = answered(a_call(), Answer.LOST, after(5))  # deadline at 10: settles at 40
DESIGN = {
    "intended": {"call": "calling", "withdrawn": "settled_absent"},
    "calling": {
        "placed": "placed",
        "refused": "refused",
        "no capacity": "no_capacity",
        "answer lost": "ambiguous",
    },
    "ambiguous": {"mark found": "adopted", "settled absent": "settled_absent"},
    "settled_absent": {"mark found": "adopted"},
}


@pytest.mark.parametrize("state", AttemptState)
def test_every_arrow_of_an_attempt_is_the_designs(state: AttemptState) -> None:
    drawn = {event.value: target.value for event, target in ATTEMPT_ARROWS[state].items()}
    assert drawn == DESIGN.get(state.value, {})


def test_only_the_winner_of_the_call_may_send_and_only_before_its_deadline() -> None:
    attempt = called(an_attempt(), "worker-1", after(10))

    assert may_send(attempt, "worker-1", after(9.9))
    assert not may_send(attempt, "worker-1", after(10))
    assert not may_send(attempt, "worker-2", after(1))
    assert not may_send(an_attempt(), "worker-1", NOW)
    with pytest.raises(NoAttemptArrowError, match="'calling' by 'call'"):
        called(attempt, "worker-2", after(10))


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (Answer.NO_CAPACITY, AttemptState.NO_CAPACITY),
        (Answer.REFUSED_HERE, AttemptState.REFUSED),
        (Answer.REFUSED, AttemptState.REFUSED),
        (Answer.THROTTLED, AttemptState.REFUSED),
        (Answer.UNSENT, AttemptState.REFUSED),
        (Answer.LOST, AttemptState.AMBIGUOUS),
    ],
)
def test_the_class_of_the_answer_moves_the_attempt(answer: Answer, state: AttemptState) -> None:
    attempt = answered(a_call(), answer, after(1), "because")
    assert attempt.state is state
    assert (attempt.answer, attempt.answered_at, attempt.detail) == (answer, after(1), "because")
    assert attempt.upstream_id is None


def test_a_placed_attempt_knows_its_upstream() -> None:
    attempt = placed(a_call(), "fedcba", after(1))
    assert (attempt.state, attempt.upstream_id) == (AttemptState.PLACED, "fedcba")


def test_what_another_owner_left_calling_counts_as_sent() -> None:
    assert taken_over(a_call(owner="dead"), "worker-1", after(1)).state is AttemptState.AMBIGUOUS
    assert taken_over(a_call(owner="worker-1"), "worker-1", after(1)) == a_call(owner="worker-1")
    assert taken_over(an_attempt(), "worker-1", after(1)) == an_attempt()


def test_the_first_owner_wakes_to_find_that_it_has_lost() -> None:
    lost = taken_over(a_call(owner="paused"), "worker-1", after(1))
    assert not may_send(lost, "paused", after(1))
    with pytest.raises(NoAttemptArrowError):
        placed(lost, "fedcba", after(2))


def test_an_intent_that_is_not_wanted_any_more_was_never_sent() -> None:
    attempt = withdrawn(an_attempt())
    assert attempt.state is AttemptState.SETTLED_ABSENT
    assert not attempt.was_sent
    assert a_call().was_sent
    assert not answered(a_call(), Answer.UNSENT, NOW).was_sent
    with pytest.raises(NoAttemptArrowError):
        withdrawn(a_call())


def test_settling_begins_at_the_deadline_or_when_the_answer_was_given_up() -> None:
    assert settles_at(LOST, SETTLE) == after(40)
    assert settles_at(replace(LOST, answered_at=after(25)), SETTLE) == after(55)
    assert settles_at(an_attempt(), SETTLE) is None


def looks(*began: float, is_complete: bool = True, shows_mark: bool = False) -> list[Look]:
    return [Look(after(seconds), is_complete, shows_mark) for seconds in began]


@pytest.mark.parametrize(
    ("seen", "now", "expected"),
    [
        (looks(11, 20, 40), 41, True),
        (looks(41, 42, 43), 44, True),
        (looks(11, 20, 40), 39.9, False),  # a clock that runs behind concludes nothing
        (looks(11, 20, 39.9), 45, False),  # none after settling
        (looks(11, 40), 45, False),  # two
        (looks(9, 10, 40), 45, False),  # two of them begun no later than the deadline
        (looks(11, 20, 40) + looks(41, is_complete=False, shows_mark=True), 45, False),
        (looks(11, 20, 40, is_complete=False), 45, False),
        ([], 1000, False),
    ],
)
def test_absence_is_settled_by_three_complete_looks_and_time(
    seen: list[Look],
    now: float,
    expected: bool,  # noqa: FBT001 -- a case's expectation
) -> None:
    assert is_settled_absent(LOST, seen, SETTLE, after(now)) is expected


def test_only_an_ambiguous_attempt_can_be_settled() -> None:
    seen = looks(11, 20, 40)
    assert not is_settled_absent(a_call(), seen, SETTLE, after(50))
    assert settled_absent(LOST).state is AttemptState.SETTLED_ABSENT
    with pytest.raises(NoAttemptArrowError):
        settled_absent(a_call())


@given(
    st.lists(st.builds(Look, st.floats(0, 200).map(after), st.booleans(), st.booleans())), st.floats(0, 200)
)
def test_absence_is_never_settled_early_or_against_a_mark(seen: list[Look], now: float) -> None:
    if is_settled_absent(LOST, seen, SETTLE, after(now)):
        assert now >= 40
        assert not any(look.shows_mark for look in seen)
        assert sum(look.is_complete and look.began_at > after(10) for look in seen) >= 3


@pytest.mark.parametrize("attempt", [LOST, settled_absent(LOST)])
def test_a_mark_that_is_found_adopts_the_upstream_however_late(attempt: Attempt) -> None:
    adopted = found(attempt, "fedcba")
    assert (adopted.state, adopted.upstream_id) == (AttemptState.ADOPTED, "fedcba")


def test_every_event_is_used() -> None:
    assert {event for arrows in ATTEMPT_ARROWS.values() for event in arrows} == set(AttemptEvent)
