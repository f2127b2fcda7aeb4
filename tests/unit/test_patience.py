"""Patience in virtual time: a request ends before the cloud answers, and what is answered then is kept."""

import asyncio

import pytest

from ostler.api.patience import PATIENCE_S, in_time
from ostler.cloud.caches import NamedCache
from ostler.cloud.refusals import TimedOut
from tests.support.cloud import LoopClock

pytestmark = pytest.mark.looptime


async def test_who_has_waited_long_enough_is_told_and_who_asks_later_finds_the_answer() -> None:
    clock = LoopClock()
    cache = NamedCache[str]("regions", 300, 1, clock)

    async def slowly() -> str:
        await clock.sleep(2.5 * PATIENCE_S)
        return "what is sold"

    began = clock.monotonic()
    with pytest.raises(TimedOut, match="no answer within 10 s"):
        await in_time("list_regions", cache.get("all", slowly))
    assert clock.monotonic() - began == pytest.approx(PATIENCE_S)
    with pytest.raises(TimedOut):
        await in_time("list_regions", cache.get("all", slowly))
    kept = await in_time("list_regions", cache.get("all", slowly))
    assert (kept.value, cache.stats().sets) == ("what is sold", 1)


async def test_an_error_in_time_is_passed_on() -> None:
    failing: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    failing.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        await in_time("list_regions", failing)
