"""Which sights are believed, when an upstream counts as gone, and which losses conclude nothing."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.sightings import (
    PRESENT,
    Absence,
    Belief,
    Command,
    belief,
    is_deleted,
    is_gone,
    is_suspicious_loss,
    missed_by_get,
    missed_by_pass,
)
from ostler.domain.upstream import UpstreamState
from tests.support.builders import NOW, a_sight, after

SETTLE = timedelta(seconds=30)
RESTART = Command(after(0), after(1), UpstreamState.RUNNING, after(-100))


def test_a_sight_of_a_row_without_commands_is_news() -> None:
    assert belief(a_sight(seconds=1), None, NOW, after(2)) is Belief.NEWS
    assert belief(a_sight(seconds=1), None, None, after(2)) is Belief.NEWS


@pytest.mark.parametrize("seconds", [-5, 0])
def test_a_sight_asked_for_no_later_than_the_last_one_is_stale(seconds: float) -> None:
    assert belief(a_sight(seconds=seconds), None, NOW, after(2)) is Belief.STALE


def test_no_sight_is_believed_while_a_command_is_on_its_way() -> None:
    assert belief(a_sight(seconds=5), Command(after(0)), None, after(6)) is Belief.STALE


def test_a_command_whose_sender_never_came_back_does_not_blind_the_row_for_ever() -> None:
    lost = Command(after(0))
    assert belief(a_sight(seconds=119), lost, None, after(119)) is Belief.STALE
    assert belief(a_sight(seconds=119), lost, None, after(120)) is Belief.NEWS
    assert belief(a_sight(seconds=0), lost, None, after(500)) is Belief.STALE


@pytest.mark.parametrize("seconds", [0.5, 1])
def test_a_page_fetched_before_a_command_was_answered_is_stale(seconds: float) -> None:
    page = a_sight(UpstreamState.EXITED, seconds)
    assert belief(page, RESTART, None, after(60)) is Belief.STALE


@pytest.mark.parametrize(("now", "expected"), [(15.9, Belief.NOT_YET), (16, Belief.NEWS)])
def test_for_fifteen_seconds_after_a_command_the_old_state_means_not_yet(
    now: float, expected: Belief
) -> None:
    assert belief(a_sight(UpstreamState.RUNNING, now), RESTART, None, after(now)) is expected


def test_another_state_right_after_a_command_is_news() -> None:
    assert belief(a_sight(UpstreamState.BOOTING, 2), RESTART, None, after(2)) is Belief.NEWS


def test_the_same_state_is_news_when_the_cloud_says_that_it_started_since() -> None:
    fresh = replace(a_sight(UpstreamState.RUNNING, 5), last_started_at=after(-50))
    same = replace(a_sight(UpstreamState.RUNNING, 5), last_started_at=after(-100))
    assert belief(fresh, RESTART, None, after(5)) is Belief.NEWS
    assert belief(same, RESTART, None, after(5)) is Belief.NOT_YET


def absence(passes: int, *not_found: float) -> Absence:
    found = PRESENT
    for _ in range(passes):
        found = missed_by_pass(found)
    for seconds in not_found:
        found = missed_by_get(found, after(seconds))
    return found


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        (absence(2, 60, 70), True),
        (absence(5, 60, 65, 70), True),
        (absence(1, 60, 70), False),
        (absence(2, 70), False),
        (absence(2, 60, 69.9), False),
        (absence(9), False),
    ],
)
def test_gone_takes_two_passes_and_two_gets_ten_seconds_apart(missed: Absence, expected: bool) -> None:  # noqa: FBT001 -- a case's expectation
    assert is_gone(missed, NOW, SETTLE, after(100)) is expected


def test_nothing_is_gone_before_it_has_settled() -> None:
    missed = absence(2, 5, 20)
    assert not is_gone(missed, NOW, SETTLE, after(30))
    assert is_gone(missed, NOW, SETTLE, after(30.1))


def test_not_found_after_an_accepted_delete_is_the_clouds_word() -> None:
    delete = Command(after(100), after(101))
    assert is_deleted(delete, after(102), NOW, SETTLE)
    assert not is_deleted(delete, after(101), NOW, SETTLE)
    assert not is_deleted(Command(after(100)), after(102), NOW, SETTLE)


def test_not_found_right_after_placement_may_mean_not_shown_yet() -> None:
    delete = Command(after(1), after(2))
    assert not is_deleted(delete, after(30), NOW, SETTLE)
    assert is_deleted(delete, after(31), NOW, SETTLE)


@pytest.mark.parametrize(
    ("lost", "fleet", "expected"),
    [
        (3, 3, False),
        (4, 4, True),
        (4, 19, True),
        (4, 20, False),
        (200, 1000, False),
        (201, 1000, True),
        (0, 0, False),
    ],
)
def test_a_loss_is_suspicious_over_a_fifth_and_over_three(lost: int, fleet: int, expected: bool) -> None:  # noqa: FBT001 -- a case's expectation
    assert is_suspicious_loss(lost, fleet) is expected


@given(st.integers(0, 500), st.integers(0, 500))
def test_losing_less_is_never_more_suspicious(lost: int, fleet: int) -> None:
    if lost and not is_suspicious_loss(lost, fleet):
        assert not is_suspicious_loss(lost - 1, fleet)
