"""Health: what the findings of the parts make of the whole."""

import pytest

from ostler.cloud.breaker import BreakerSnapshot, BreakerState
from ostler.cloud.observer import Outcome
from ostler.usecases.health import CloudPulse, Finding, Health, Standing, breaker_finding, overall
from tests.support.cloud import HandClock

UNHEALTHY, DEGRADED, HEALTHY = Standing.UNHEALTHY, Standing.DEGRADED, Standing.HEALTHY


@pytest.mark.parametrize(
    ("standing", "is_vital", "expected"),
    [
        (UNHEALTHY, True, UNHEALTHY),
        (UNHEALTHY, False, DEGRADED),
        (DEGRADED, True, DEGRADED),
        (DEGRADED, False, DEGRADED),
        (Standing.UNKNOWN, True, HEALTHY),
        (HEALTHY, True, HEALTHY),
    ],
)
def test_one_part_makes_the_whole(standing: Standing, expected: Standing, *, is_vital: bool) -> None:
    well = Finding(HEALTHY, "")
    assert overall({"well": well, "part": Finding(standing, "", is_vital=is_vital)}) is expected


def test_a_process_that_stops_says_so_whatever_else_is_true() -> None:
    health = Health(HandClock(), {"part": lambda: Finding(HEALTHY, "")}, dict)
    assert health.report().standing is HEALTHY
    health.stop()
    assert health.report().standing is UNHEALTHY


@pytest.mark.parametrize("outcome", [Outcome.ANSWERED, Outcome.REFUSED, Outcome.RATE_LIMITED])
def test_any_answer_of_the_cloud_shows_that_it_lives(outcome: Outcome) -> None:
    clock = HandClock()
    pulse = CloudPulse(clock)
    pulse.hear(Outcome.UNAVAILABLE)
    clock.seconds += 1
    pulse.hear(outcome)
    assert pulse.finding().standing is HEALTHY
    assert pulse.finding().observed_at == clock.now()


@pytest.mark.parametrize("outcome", [Outcome.UNAVAILABLE, Outcome.AMBIGUOUS])
def test_no_answer_degrades_until_the_next_one(outcome: Outcome) -> None:
    clock = HandClock()
    pulse = CloudPulse(clock)
    pulse.hear(Outcome.ANSWERED)
    clock.seconds += 1
    pulse.hear(outcome)
    assert pulse.finding().standing is DEGRADED


@pytest.mark.parametrize("outcome", [Outcome.CIRCUIT_OPEN, Outcome.TOO_LATE, Outcome.CANCELLED])
def test_a_call_that_was_not_made_shows_nothing(outcome: Outcome) -> None:
    pulse = CloudPulse(HandClock())
    pulse.hear(outcome)
    assert pulse.finding().standing is Standing.UNKNOWN


def test_an_open_breaker_is_told_with_the_time_of_its_next_try() -> None:
    clock = HandClock()
    closed = BreakerSnapshot("read", BreakerState.CLOSED, 0, 0, 0, None)
    opened = BreakerSnapshot("create", BreakerState.OPEN, 3, 1, 7, clock.now())
    assert breaker_finding([closed], clock.now()).standing is HEALTHY
    finding = breaker_finding([closed, opened], clock.now())
    assert finding.standing is DEGRADED
    assert f"create open, next try at {clock.now():%H:%M:%S} UTC" in finding.detail
