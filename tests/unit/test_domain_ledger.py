"""What is billed in which state, and what an interval costs, exactly."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.ledger import Interval, IntervalState, interval_cost, interval_state
from ostler.domain.lifecycle import State, is_billable
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState
from tests.support.builders import INSTANCE_ID, NOW, after

HOUR = Interval(INSTANCE_ID, IntervalState.COMPUTE, Usd(35_000), NOW, after(3600))


@pytest.mark.parametrize("upstream", [None, *UpstreamState])
@pytest.mark.parametrize("state", State)
def test_every_billable_state_opens_an_interval(state: State, upstream: UpstreamState | None) -> None:
    assert (interval_state(state, upstream, has_upstream=True) is not None) is is_billable(state)
    assert interval_state(state, upstream, has_upstream=False) is None


@pytest.mark.parametrize(
    ("state", "upstream", "expected"),
    [
        (State.STARTING, UpstreamState.PROVISIONING, IntervalState.FREE),
        (State.STARTING, UpstreamState.PULLING, IntervalState.COMPUTE),
        (State.STARTING, None, IntervalState.COMPUTE),
        (State.EXITED, UpstreamState.EXITED, IntervalState.STORAGE),
        (State.EXITED, None, IntervalState.STORAGE),
        (State.EXITED, UpstreamState.RUNNING, IntervalState.COMPUTE),
        (State.EXITED, UpstreamState.UNKNOWN, IntervalState.STORAGE),
        (State.FAILED, UpstreamState.RUNNING, IntervalState.COMPUTE),
        (State.FAILED, UpstreamState.FROZEN, IntervalState.STORAGE),
        (State.STOPPING, UpstreamState.STOPPING, IntervalState.COMPUTE),
        (State.TERMINATING, UpstreamState.REMOVING, IntervalState.COMPUTE),
        (State.TERMINATING, UpstreamState.EXITED, IntervalState.STORAGE),
        (State.TERMINATING, UpstreamState.REMOVED, IntervalState.FREE),
        (State.READY, UpstreamState.UNKNOWN, IntervalState.COMPUTE),
    ],
)
def test_what_the_cloud_shows_says_what_is_billed(
    state: State, upstream: UpstreamState | None, expected: IntervalState
) -> None:
    assert interval_state(state, upstream, has_upstream=True) is expected


def test_an_hour_costs_its_price() -> None:
    assert interval_cost(HOUR, after(9999)) == Usd(35_000)


def test_an_open_interval_costs_until_now() -> None:
    assert interval_cost(replace(HOUR, to_at=None), after(1800)) == Usd(17_500)


def test_what_is_free_costs_nothing() -> None:
    assert interval_cost(replace(HOUR, state=IntervalState.FREE), NOW) == Usd(0)


def test_a_cost_is_rounded_to_the_nearest_unit() -> None:
    cheap = replace(HOUR, price_per_hour=Usd(1))
    assert interval_cost(replace(cheap, to_at=after(1799)), NOW) == Usd(0)
    assert interval_cost(replace(cheap, to_at=after(1800)), NOW) == Usd(1)


@given(st.integers(0, 10**9), st.integers(0, 10**7), st.integers(0, 10**7))
def test_cutting_an_interval_in_two_changes_its_cost_by_a_unit_at_most(
    price: int, first: int, second: int
) -> None:
    whole = replace(HOUR, price_per_hour=Usd(price), to_at=NOW + timedelta(seconds=first + second))
    middle = NOW + timedelta(seconds=first)
    parts = interval_cost(replace(whole, to_at=middle), NOW) + interval_cost(
        replace(whole, from_at=middle), NOW
    )
    assert abs(parts.units - interval_cost(whole, NOW).units) <= 1
