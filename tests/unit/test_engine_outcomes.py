"""What follows from an outcome, and how long a retry waits: pure functions."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.config import EngineConfig
from ostler.engine.outcome import (
    LONGEST_RETRY,
    Done,
    GiveUp,
    Interrupted,
    Retry,
    Wait,
    WaitWithoutZone,
    result_of,
    retry_delay,
)
from ostler.engine.pump import Room, free_slots
from ostler.store.job_leases import Finish, PutOff
from ostler.store.jobs import ClaimedJob, JobStatus, Lease, Priority

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVERY = timedelta(minutes=5)


def a_job(attempts: int = 0, max_attempts: int | None = None) -> ClaimedJob:
    return ClaimedJob(
        Lease(1, 2), "kind", "subject", 0, Priority.NORMAL, attempts, max_attempts, {}, claimed_at=NOON
    )


def result(job: ClaimedJob, outcome: Done | Wait | Retry | GiveUp | Interrupted) -> Finish | PutOff:
    return result_of(job, outcome, every=None, chance=1.0)


def test_done_ends_the_job() -> None:
    assert result(a_job(attempts=1), Done()) == Finish(Lease(1, 2), JobStatus.DONE, 2)


def test_waiting_forgets_earlier_attempts() -> None:
    assert result(a_job(attempts=2), Wait(NOON)) == PutOff(Lease(1, 2), NOON, attempts=0)
    assert result(a_job(attempts=2), Wait(EVERY)) == PutOff(Lease(1, 2), EVERY, attempts=0)


def test_waiting_for_ever_is_ten_years() -> None:
    waiting = result(a_job(), Wait(timedelta.max))
    assert isinstance(waiting, PutOff)
    assert waiting.due == timedelta(days=3650)


def test_an_instant_without_a_zone_is_refused_where_it_is_said() -> None:
    with pytest.raises(WaitWithoutZone):
        Wait(NOON.replace(tzinfo=None))


def test_the_last_attempt_of_a_bounded_kind_fails_and_the_one_before_does_not() -> None:
    assert result(a_job(1, max_attempts=3), Retry("x")) == PutOff(
        Lease(1, 2), timedelta(seconds=0.2), 2, "x", can_hurry=False
    )
    assert result(a_job(2, max_attempts=3), Retry("x")) == Finish(Lease(1, 2), JobStatus.FAILED, 3, "x")


def test_a_retry_may_name_its_own_time() -> None:
    retrying = result(a_job(), Retry("x", after=timedelta(seconds=42)))
    assert isinstance(retrying, PutOff)
    assert retrying.due == timedelta(seconds=42)


def test_giving_up_fails_whatever_attempts_are_left() -> None:
    assert result(a_job(0, max_attempts=9), GiveUp("x")) == Finish(Lease(1, 2), JobStatus.FAILED, 1, "x")


def test_an_interruption_is_no_attempt() -> None:
    assert result(a_job(2, max_attempts=3), Interrupted("away")) == PutOff(
        Lease(1, 2), timedelta(seconds=1), 2, "away"
    )


@pytest.mark.parametrize(("outcome", "error"), [(Done(), None), (GiveUp("x"), "x"), (Retry("x"), "x")])
def test_periodic_work_comes_back_after_its_interval_however_it_ended(
    outcome: Done | GiveUp | Retry, error: str | None
) -> None:
    job = a_job(2, max_attempts=3)
    assert result_of(job, outcome, every=EVERY, chance=0.5) == PutOff(Lease(1, 2), EVERY, 0, error)


@given(st.text())
def test_no_error_text_can_hold_up_the_database(text: str) -> None:
    failed = result(a_job(max_attempts=1), Retry(text + "\0\ud800"))
    assert failed.error is not None
    assert "\0" not in failed.error
    assert len(failed.error.encode()) <= 4 * 2000


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_a_retry_waits_at_least_half_and_at_most_the_whole_of_its_step(attempts: int, chance: float) -> None:
    step = min(timedelta(seconds=300), timedelta(seconds=0.1 * 2 ** min(attempts - 1, 20)))
    assert step / 2 - timedelta(microseconds=1) <= retry_delay(attempts, chance) <= step


def test_the_steps_double_from_a_tenth_of_a_second_to_five_minutes() -> None:
    seconds = [retry_delay(attempts, 1.0).total_seconds() for attempts in range(1, 15)]
    assert seconds == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 300, 300]
    assert timedelta(seconds=300) == LONGEST_RETRY


@given(st.integers(1, 100), st.lists(st.sampled_from(Priority), max_size=120))
def test_room_never_exceeds_the_slots_and_keeps_some_for_high_work(
    slots: int, polled: list[Priority]
) -> None:
    config = EngineConfig(owner="x", slots=slots)
    room = free_slots(polled, config)
    assert room.shared >= 0
    assert room.kept >= 0
    assert room.shared + room.kept == max(0, slots - len(polled))
    others = sum(priority != Priority.HIGH for priority in polled)
    assert room.shared == 0 or others + room.shared <= config.slots_for_all


def test_with_one_slot_any_work_can_run() -> None:
    assert free_slots([], EngineConfig(owner="x", slots=1)) == Room(shared=1, kept=0)
    assert free_slots([], EngineConfig(owner="x", slots=10)) == Room(shared=8, kept=2)
