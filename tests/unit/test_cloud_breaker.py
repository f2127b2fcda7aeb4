"""The circuit breaker in hand-turned time: what opens it, what passes it, what closes it again."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ostler.cloud.breaker import BreakerState, InterlockBreaker
from ostler.cloud.refusals import (
    Ambiguous,
    CircuitOpen,
    CloudRefusal,
    NoCapacity,
    RateLimited,
    TooLate,
    Unauthorized,
    Unavailable,
)
from tests.support.cloud import HandClock

FAILURES = 3
RECOVERY_S = 60.0


def a_breaker(clock: HandClock) -> InterlockBreaker:
    return InterlockBreaker("read", FAILURES, RECOVERY_S, clock)


def ending(refusal: CloudRefusal | None) -> Callable[[], Awaitable[str]]:
    async def call() -> str:
        if refusal is not None:
            raise refusal
        return "done"

    return call


async def run(breaker: InterlockBreaker, refusal: CloudRefusal | None, *, is_urgent: bool = False) -> str:
    """Run one operation and tell how it ended."""
    try:
        return await breaker.run("op", ending(refusal), is_urgent=is_urgent)
    except CloudRefusal as seen:
        return type(seen).__name__


async def opened(clock: HandClock) -> InterlockBreaker:
    breaker = a_breaker(clock)
    for _ in range(FAILURES):
        await run(breaker, Unavailable("op", "status 503"))
    return breaker


@pytest.mark.parametrize("failure", [Unavailable("op", "status 503"), Ambiguous("op", "no answer")])
async def test_so_many_unavailable_operations_in_a_row_open_it(failure: CloudRefusal) -> None:
    breaker = a_breaker(HandClock())
    for _ in range(FAILURES - 1):
        await run(breaker, failure)
    assert breaker.snapshot().state is BreakerState.CLOSED
    await run(breaker, failure)
    assert breaker.snapshot().state is BreakerState.OPEN


async def test_one_success_between_failures_starts_the_count_anew() -> None:
    breaker = a_breaker(HandClock())
    for refusal in (
        Unavailable("op", "x"),
        Unavailable("op", "x"),
        None,
        Unavailable("op", "x"),
        Unavailable("op", "x"),
    ):
        await run(breaker, refusal)
    assert breaker.snapshot().state is BreakerState.CLOSED
    assert breaker.snapshot().failures_in_a_row == 2


@pytest.mark.parametrize(
    "refusal", [NoCapacity("op"), RateLimited("op", 1.0), Unauthorized("op"), TooLate("op")], ids=repr
)
async def test_an_answer_of_the_cloud_never_opens_it(refusal: CloudRefusal) -> None:
    breaker = a_breaker(HandClock())
    for _ in range(10 * FAILURES):
        await run(breaker, refusal)
    assert breaker.snapshot().state is BreakerState.CLOSED


async def test_open_it_refuses_at_once_and_says_when_to_come_back() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    clock.seconds += 20
    with pytest.raises(CircuitOpen) as refusal:
        await breaker.run("op", ending(None), is_urgent=False)
    assert (refusal.value.next_try_at - clock.now()).total_seconds() == RECOVERY_S - 20
    seen = breaker.snapshot()
    assert (seen.times_opened, seen.calls_refused, seen.next_try_at) == (1, 1, refusal.value.next_try_at)


async def test_after_recovery_exactly_one_of_fifty_callers_probes() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    clock.seconds += RECOVERY_S
    assert breaker.snapshot().state is BreakerState.HALF_OPEN
    calls = 0
    answered = asyncio.Event()

    async def slow() -> str:
        nonlocal calls
        calls += 1
        await answered.wait()
        return "done"

    callers = [asyncio.create_task(breaker.run("op", slow, is_urgent=False)) for _ in range(50)]
    await asyncio.wait(callers, return_when=asyncio.FIRST_COMPLETED)
    answered.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert calls == 1
    assert results.count("done") == 1
    assert sum(isinstance(result, CircuitOpen) for result in results) == 49
    assert breaker.snapshot().state is BreakerState.CLOSED


async def test_a_failed_probe_opens_it_for_another_recovery_time() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    clock.seconds += RECOVERY_S
    assert await run(breaker, Unavailable("op", "still down")) == "Unavailable"
    seen = breaker.snapshot()
    assert (seen.state, seen.times_opened) == (BreakerState.OPEN, 2)
    clock.seconds += RECOVERY_S - 1
    assert await run(breaker, None) == "CircuitOpen"
    clock.seconds += 1
    assert await run(breaker, None) == "done"


async def test_a_cancelled_probe_leaves_room_for_the_next() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    clock.seconds += RECOVERY_S
    probe = asyncio.create_task(breaker.run("op", asyncio.Event().wait, is_urgent=False))
    await asyncio.wait({probe}, timeout=0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    assert await run(breaker, None) == "done"


async def test_a_probe_that_was_never_sent_proves_nothing() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    clock.seconds += RECOVERY_S
    assert await run(breaker, TooLate("op")) == "TooLate"
    assert breaker.snapshot().state is BreakerState.OPEN


async def test_an_urgent_call_probes_an_open_breaker_and_its_success_closes_it() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    assert await run(breaker, None, is_urgent=True) == "done"
    assert breaker.snapshot().state is BreakerState.CLOSED
    assert breaker.snapshot().failures_in_a_row == 0


async def test_any_answer_to_an_urgent_call_closes_it() -> None:
    breaker = await opened(HandClock())
    assert await run(breaker, NoCapacity("op"), is_urgent=True) == "NoCapacity"
    assert breaker.snapshot().state is BreakerState.CLOSED


async def test_urgent_calls_probe_at_most_once_in_two_seconds() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    down = Unavailable("op", "down")
    assert await run(breaker, down, is_urgent=True) == "Unavailable"
    assert await run(breaker, None, is_urgent=True) == "CircuitOpen"
    clock.seconds += 1.9
    assert await run(breaker, None, is_urgent=True) == "CircuitOpen"
    clock.seconds += 0.1
    assert await run(breaker, None, is_urgent=True) == "done"


async def test_a_failed_urgent_probe_does_not_put_off_the_regular_one() -> None:
    clock = HandClock()
    breaker = await opened(clock)
    clock.seconds += RECOVERY_S - 1
    await run(breaker, Unavailable("op", "down"), is_urgent=True)
    clock.seconds += 1
    assert await run(breaker, None) == "done"
