"""How our word and the cloud's stand to each other: each value, and what is shown then."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.consistency import CloudsWord, Consistency, OurWord, consistency, fits, shown_state
from ostler.domain.lifecycle import State, sight_event
from ostler.domain.sightings import NOT_YET_WINDOW
from ostler.domain.upstream import UpstreamState
from tests.support.builders import NOW

_ASKED = NOW
_SECOND = timedelta(seconds=1)
_STOPPING = OurWord(State.STOPPING, _ASKED)


@pytest.mark.parametrize(
    ("ours", "clouds", "expected", "shown"),
    [
        (OurWord(State.CREATING), None, Consistency.CONSISTENT, State.CREATING),
        (OurWord(State.READY), CloudsWord(UpstreamState.RUNNING), Consistency.CONSISTENT, State.READY),
        (
            OurWord(State.TERMINATING),
            CloudsWord(UpstreamState.RUNNING, is_missing=True),
            Consistency.CONSISTENT,
            State.TERMINATING,
        ),
        (
            _STOPPING,
            CloudsWord(UpstreamState.RUNNING, _ASKED - _SECOND),
            Consistency.LOCAL_NEWER,
            State.STOPPING,
        ),
        (
            _STOPPING,
            CloudsWord(UpstreamState.RUNNING, _ASKED + NOT_YET_WINDOW - _SECOND),
            Consistency.LOCAL_NEWER,
            State.STOPPING,
        ),
        (_STOPPING, CloudsWord(UpstreamState.RUNNING), Consistency.LOCAL_NEWER, State.STOPPING),
        (
            _STOPPING,
            CloudsWord(UpstreamState.RUNNING, _ASKED + NOT_YET_WINDOW),
            Consistency.NOVITA_NEWER,
            State.RUNNING,
        ),
        (
            OurWord(State.STARTING),
            CloudsWord(UpstreamState.RUNNING, NOW),
            Consistency.NOVITA_NEWER,
            State.RUNNING,
        ),
        (
            OurWord(State.RUNNING),
            CloudsWord(UpstreamState.RUNNING, NOW, is_missing=True),
            Consistency.CONFLICTED,
            State.RUNNING,
        ),
        (
            OurWord(State.RUNNING),
            CloudsWord(UpstreamState.RUNNING, NOW, has_rivals=True),
            Consistency.CONFLICTED,
            State.RUNNING,
        ),
    ],
)
def test_each_value_is_what_its_sentence_says(
    ours: OurWord, clouds: CloudsWord | None, expected: Consistency, shown: State
) -> None:
    assert consistency(ours, clouds) is expected
    assert shown_state(ours, clouds) is shown


@given(st.sampled_from(State), st.sampled_from(UpstreamState))
def test_a_word_that_would_move_a_state_never_fits_it(state: State, upstream: UpstreamState) -> None:
    is_left_open = state is State.FAILED or upstream is UpstreamState.UNKNOWN
    assert is_left_open or sight_event(state, upstream) is None or not fits(state, upstream)


@given(st.sampled_from(State), st.integers(-60, 60))
def test_a_word_that_is_not_known_is_held_against_nobody(state: State, seconds: int) -> None:
    word = CloudsWord(UpstreamState.UNKNOWN, NOW + seconds * _SECOND)
    assert consistency(OurWord(state, _ASKED), word) is Consistency.CONSISTENT
    assert shown_state(OurWord(state, _ASKED), word) is state
