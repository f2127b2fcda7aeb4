"""Limits: a window of requests for each asker, and that what is told of it is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.api.limits import ALLOWANCE, Limits, Quota, Windows, site_of
from tests.support.cloud import HandClock

QUOTA = Quota(requests=3, window_ms=60_000)


def a_scope(address: str = "192.0.2.1") -> dict[str, object]:
    return {"type": "http", "client": (address, 4711), "headers": [], "state": {}}


def test_as_many_as_allowed_are_let_in_and_told_what_is_left() -> None:
    windows = Windows(QUOTA, HandClock())
    turns = [windows.take("ann") for _ in range(5)]
    assert [turn.is_allowed for turn in turns] == [True, True, True, False, False]
    assert [turn.left for turn in turns] == [2, 1, 0, 0, 0]


def test_nobody_is_charged_for_what_others_ask() -> None:
    windows = Windows(QUOTA, HandClock())
    for _ in range(9):
        windows.take("ann")
    assert windows.take("bob").left == 2


@given(
    requests=st.integers(1, 20),
    window_ms=st.integers(100, 3_600_000),
    pauses=st.lists(st.floats(0, 4000), min_size=1, max_size=60),
)
def test_who_waits_as_long_as_told_is_let_in_and_no_window_lets_more_in(
    requests: int, window_ms: int, pauses: list[float]
) -> None:
    clock = HandClock()
    windows = Windows(Quota(requests, window_ms), clock)
    let_in: list[float] = []
    for pause in pauses:
        clock.seconds += pause
        turn = windows.take("ann")
        if not turn.is_allowed:
            assert turn.resets_in_s >= 1
            clock.seconds += turn.resets_in_s
            turn = windows.take("ann")
            assert turn.is_allowed
        let_in.append(clock.monotonic())
    for first, last in zip(let_in, let_in[2 * requests :], strict=False):
        assert last - first >= window_ms / 1000 * 0.999, "twice as many only across the end of a window"


def test_windows_that_are_over_are_forgotten_and_too_many_are_not_kept() -> None:
    clock = HandClock()
    windows = Windows(QUOTA, clock, most=100)
    for number in range(1000):
        windows.take(f"key {number}")
    assert len(windows) == 100
    clock.seconds += 61
    windows.take("ann")
    assert len(windows) == 1


def test_one_too_many_is_counted_and_refused_with_the_time_to_wait() -> None:
    clock, counted = HandClock(), list[str]()
    limits = Limits(QUOTA, clock, counted.append)
    scope = a_scope()
    assert [limits.of_key("key_a", scope) for _ in range(3)] == [None] * 3
    clock.seconds += 20.5
    problem = limits.of_key("key_a", scope)
    assert problem is not None
    assert (problem.status, problem.code) == (429, "RATE_LIMIT_EXCEEDED")
    assert problem.headers == {"Retry-After": "40"}
    assert problem.details == {"limit": 3, "windowMs": 60_000, "retryAfterSeconds": 40}
    assert scope["state"] == {
        ALLOWANCE: ((b"ratelimit-limit", b"3"), (b"ratelimit-remaining", b"0"), (b"ratelimit-reset", b"40"))
    }
    assert counted == ["key"]


def test_wrong_keys_use_up_no_good_one_s_requests() -> None:
    limits = Limits(QUOTA, HandClock(), lambda _: None)
    refused = [limits.of_wrong_key(a_scope()) is not None for _ in range(4)]
    assert refused == [False, False, False, True]
    assert limits.of_key("key_a", a_scope()) is None
    assert limits.of_address(a_scope()) is None
    assert limits.of_wrong_key(a_scope("192.0.2.2")) is None


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unknown", "unknown"),
    ],
)
def test_addresses_of_one_holder_are_one_site(address: str, site: str) -> None:
    assert site_of(address) == site
