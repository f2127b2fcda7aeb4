"""Patience in virtual time: a request ends before the cloud answers, and what is answered then is kept."""

import asyncio

import pytest

from ostler.api.patience import PATIENCE_S, Patience
from ostler.cloud.caches import NamedCache
from ostler.cloud.lane import Lane
from ostler.cloud.lanes import Allowance, Lanes
from ostler.cloud.refusals import CloudRefusal, Queued, Silenced, TimedOut
from tests.support.cloud import LoopClock

pytestmark = pytest.mark.looptime


def a_patience(lanes: Lanes | None = None) -> Patience:
    return Patience((lanes or Lanes(Allowance(0, 8))).snapshot, LoopClock())


async def refused(lanes: Lanes) -> tuple[CloudRefusal, float]:
    """Ask for what waits in a lane; return what is said instead, and after how long."""
    began = LoopClock().monotonic()
    with pytest.raises(CloudRefusal) as caught:
        await a_patience(lanes).in_time("list_regions", lanes.enter(Lane.USER, is_command=False))
    return caught.value, LoopClock().monotonic() - began


async def test_who_has_waited_long_enough_is_told_and_who_asks_later_finds_the_answer() -> None:
    clock = LoopClock()
    cache = NamedCache[str]("regions", 300, 1, clock)

    async def slowly() -> str:
        await clock.sleep(2.5 * PATIENCE_S)
        return "what is sold"

    began = clock.monotonic()
    with pytest.raises(TimedOut, match="no answer within 10 s"):
        await a_patience().in_time("list_regions", cache.get("all", slowly))
    assert clock.monotonic() - began == pytest.approx(PATIENCE_S)
    with pytest.raises(TimedOut):
        await a_patience().in_time("list_regions", cache.get("all", slowly))
    kept = await a_patience().in_time("list_regions", cache.get("all", slowly))
    assert (kept.value, cache.stats().sets) == ("what is sold", 1)


async def test_an_error_in_time_is_passed_on() -> None:
    failing: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    failing.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        await a_patience().in_time("list_regions", failing)


async def test_while_the_cloud_asks_for_a_long_silence_nobody_waits_for_nothing() -> None:
    lanes = Lanes(Allowance(0, 8))
    lanes.hold(120)
    refusal, waited_s = await refused(lanes)
    assert waited_s < 1
    assert isinstance(refusal, Silenced)
    assert (refusal.until - LoopClock().now()).total_seconds() == pytest.approx(120 - waited_s)
    known: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    known.set_result("what is known")
    assert await a_patience(lanes).in_time("list_regions", known) == "what is known"


async def test_a_silence_that_may_be_over_in_time_is_waited_for() -> None:
    lanes = Lanes(Allowance(0, 8))
    lanes.hold(PATIENCE_S - 1)
    await a_patience(lanes).in_time("list_regions", lanes.enter(Lane.USER, is_command=False))
    lanes.leave(Lane.USER)


async def test_who_queues_for_our_own_limit_is_told_so() -> None:
    lanes = Lanes(Allowance(per_minute=1, in_flight=8))
    await lanes.enter(Lane.USER, is_command=True)
    refusal, waited_s = await refused(lanes)
    assert waited_s < 1
    assert isinstance(refusal, Queued)
    assert str(refusal) == "list_regions: not sent yet: 1 call waits for the limit of calls to the cloud"
    assert refusal.retry_after_s == pytest.approx(120 - waited_s)  # behind itself
    lanes.close()
