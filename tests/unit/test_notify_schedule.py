"""The pure rules of delivery: how long to wait, when to give up, who of a line goes first."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ostler.notify.schedule import (
    HOLD,
    LONGEST_WAIT,
    PATIENCE,
    chosen,
    may_go,
    next_attempt,
    wait_after,
)
from ostler.store.webhook_leases import Candidate

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_waits_double_from_five_seconds_to_twelve_hours() -> None:
    waits = [wait_after(attempt).total_seconds() for attempt in range(1, 18)]
    assert waits == [5.0 * 2**doublings for doublings in range(14)] + [43_200.0] * 3


def test_a_receiver_that_never_answers_is_tried_for_three_days() -> None:
    now, attempt = NOW, 1
    while (then := next_attempt(now, attempt, NOW + PATIENCE, None)) is not None:
        now, attempt = then, attempt + 1
    assert timedelta(days=2, hours=12) < now - NOW <= timedelta(days=3)
    assert attempt == 19


@given(attempt=st.integers(1, 10_000), asked=st.none() | st.timedeltas(timedelta(0), timedelta(days=30)))
def test_no_wait_is_shorter_than_ours_or_longer_than_the_longest(
    attempt: int, asked: timedelta | None
) -> None:
    wait = wait_after(attempt, asked)
    assert wait_after(attempt) <= wait <= LONGEST_WAIT
    if asked is not None and asked <= LONGEST_WAIT:
        assert wait >= asked


def test_an_attempt_that_would_come_too_late_is_not_made() -> None:
    assert next_attempt(NOW, 1, NOW + 5 * SECOND, None) == NOW + 5 * SECOND
    assert next_attempt(NOW, 1, NOW + 4 * SECOND, None) is None
    assert next_attempt(NOW, 1, NOW + 60 * SECOND, 61 * SECOND) is None


def test_a_delivery_waits_for_an_untried_elder_and_for_a_tried_one_while_it_holds() -> None:
    assert may_go(Candidate(2, was_tried=False), NOW)
    assert not may_go(Candidate(2, was_tried=False, elder_id=1), NOW)
    assert not may_go(Candidate(2, was_tried=False, elder_id=1, elder_holds_until=NOW + SECOND), NOW)
    assert may_go(Candidate(2, was_tried=False, elder_id=1, elder_holds_until=NOW), NOW)
    assert may_go(Candidate(2, was_tried=True, elder_id=1), NOW)


def test_what_its_line_holds_back_comes_due_when_the_line_moves() -> None:
    candidates = [
        Candidate(1, was_tried=False),
        Candidate(2, was_tried=False, elder_id=1),
        Candidate(4, was_tried=False, elder_id=3, elder_holds_until=NOW + 7 * SECOND),
    ]
    choice = chosen(candidates, 4, NOW)
    assert choice.take == (1,)
    assert choice.postpone == ((2, NOW + HOLD), (4, NOW + 7 * SECOND))


CANDIDATES = st.builds(
    Candidate,
    id=st.integers(1, 1000),
    was_tried=st.booleans(),
    elder_id=st.none() | st.integers(1, 1000),
    elder_holds_until=st.none() | st.datetimes(timezones=st.just(UTC)),
)


@given(
    candidates=st.lists(CANDIDATES, unique_by=lambda each: each.id),
    free=st.integers(-2, 5),
)
def test_nothing_held_back_is_taken_and_nothing_taken_is_put_off(
    candidates: list[Candidate], free: int
) -> None:
    choice = chosen(candidates, free, NOW)
    put_off = {each for each, _ in choice.postpone}
    assert len(choice.take) <= max(0, free)
    assert not put_off & set(choice.take)
    assert put_off == {each.id for each in candidates if not may_go(each, NOW)}
    assert all(then > NOW for _, then in choice.postpone)
