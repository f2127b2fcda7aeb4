"""The startup clock, the expected end of a start, and the end of waiting for stock."""

from datetime import timedelta

import pytest

from ostler.domain.deadlines import StartupClock, estimated_ready_at, has_waited_enough, startup_clock
from ostler.domain.phases import Phase, StartingPhase
from tests.support.builders import NOW, after

LIMIT = timedelta(seconds=600)


@pytest.mark.parametrize(
    ("phase", "seconds", "expected"),
    [
        (StartingPhase.BOOTING, 599, StartupClock.RUNNING),
        (StartingPhase.BOOTING, 600, StartupClock.OVER),
        (StartingPhase.PROVISIONING, 600, StartupClock.OVER),
        (None, 600, StartupClock.OVER),
        (StartingPhase.PULLING, 599, StartupClock.RUNNING),
        (StartingPhase.PULLING, 600, StartupClock.LATE),
        (StartingPhase.PULLING, 1799, StartupClock.LATE),
        (StartingPhase.PULLING, 1800, StartupClock.OVER),
    ],
)
def test_pulling_is_only_late_until_three_times_the_limit(
    phase: Phase | None, seconds: float, expected: StartupClock
) -> None:
    assert startup_clock(NOW, LIMIT, phase, after(seconds)) is expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [([], 240), ([10, 20, 30, 40], 240), ([50, 10, 20, 40, 30], 30), ([10, 20, 30, 40, 50, 60], 35)],
)
def test_a_start_takes_four_minutes_or_the_median_of_at_least_five(
    last: list[float], expected: float
) -> None:
    starts = [timedelta(seconds=each) for each in last]
    assert estimated_ready_at(NOW, starts) == after(expected)


def test_waiting_for_stock_ends() -> None:
    assert not has_waited_enough(NOW, LIMIT, after(599))
    assert has_waited_enough(NOW, LIMIT, after(600))
