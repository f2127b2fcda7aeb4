"""Named caches in hand-turned time: life, size, one flight per key, stale values, statistics."""

import asyncio

import pytest

from ostler.cloud.caches import HOLD_OFF_S, PATIENCE_S, Caches, NamedCache, Wish
from ostler.cloud.refusals import Malformed, RateLimited, Unauthorized, Unavailable
from tests.support.cloud import EPOCH, HandClock, LoopClock

LIFE_S = 300.0
AT_ONCE = Wish(patience_s=0)


class Source:
    """Counts its readings; can fail, and can be slow."""

    def __init__(self) -> None:
        self.readings = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> str:
        self.readings += 1
        reading = self.readings
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return f"reading {reading}"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def cache(clock: HandClock) -> NamedCache[str]:
    return NamedCache("things", LIFE_S, 3, clock)


async def test_a_value_is_read_once_in_its_life(cache: NamedCache[str], clock: HandClock) -> None:
    source = Source()
    first = await cache.get("k", source)
    clock.seconds += LIFE_S - 1
    second = await cache.get("k", source)
    assert (first.value, first.was_cached) == ("reading 1", False)
    assert (second.value, second.was_cached, second.is_stale) == ("reading 1", True, False)
    assert second.observed_at == first.observed_at
    assert first.observed_at.timestamp() == EPOCH.timestamp() + 1000


async def test_after_its_life_it_is_read_anew(cache: NamedCache[str], clock: HandClock) -> None:
    source = Source()
    await cache.get("k", source)
    clock.seconds += LIFE_S
    assert (await cache.get("k", source)).value == "reading 2"


async def test_a_thousand_readers_share_one_flight(cache: NamedCache[str]) -> None:
    source = Source()
    values = await asyncio.gather(*(cache.get("k", source) for _ in range(1000)))
    assert source.readings == 1
    assert {kept.value for kept in values} == {"reading 1"}


async def test_the_first_reader_may_leave_without_taking_the_others_along(cache: NamedCache[str]) -> None:
    source = Source()
    source.gate.clear()
    readers = [asyncio.create_task(cache.get("k", source)) for _ in range(11)]
    await asyncio.wait(readers, timeout=0)
    readers[0].cancel()
    source.gate.set()
    rest = await asyncio.gather(*readers[1:])
    assert {kept.value for kept in rest} == {"reading 1"}
    assert readers[0].cancelled()


async def test_an_error_is_given_to_its_readers_and_not_kept(cache: NamedCache[str]) -> None:
    source = Source()
    source.error = Unavailable("op", "down")
    with pytest.raises(Unavailable):
        await cache.get("k", source)
    source.error = None
    assert (await cache.get("k", source)).value == "reading 2"


@pytest.mark.parametrize(
    "error",
    [Unavailable("op", "down"), RateLimited("op", None), Malformed("op", "body", "no JSON")],
    ids=repr,
)
async def test_while_the_cloud_is_down_the_old_value_is_served_as_stale(
    cache: NamedCache[str], clock: HandClock, error: Exception
) -> None:
    source = Source()
    first = await cache.get("k", source)
    clock.seconds += 10 * LIFE_S
    source.error = error
    kept = await cache.get("k", source)
    assert (kept.value, kept.is_stale, kept.observed_at) == ("reading 1", True, first.observed_at)


async def test_a_failed_reading_is_not_repeated_for_every_reader(
    cache: NamedCache[str], clock: HandClock
) -> None:
    source = Source()
    await cache.get("k", source)
    clock.seconds += LIFE_S
    source.error = Unavailable("op", "down")
    for _ in range(10):
        await cache.get("k", source)
    assert source.readings == 2
    clock.seconds += HOLD_OFF_S
    source.error = None
    assert (await cache.get("k", source)).value == "reading 3"


async def test_a_refusal_that_is_an_answer_is_not_hidden_by_an_old_value(
    cache: NamedCache[str], clock: HandClock
) -> None:
    source = Source()
    await cache.get("k", source)
    clock.seconds += LIFE_S
    source.error = Unauthorized("op")
    with pytest.raises(Unauthorized):
        await cache.get("k", source)


@pytest.mark.looptime
async def test_whoever_can_have_an_old_value_does_not_wait_long_for_a_new_one() -> None:
    cache = NamedCache[str]("things", LIFE_S, 3, LoopClock())
    source = Source()
    await cache.get("k", source)
    await LoopClock().sleep(LIFE_S + 1)
    source.gate.clear()
    began = asyncio.get_running_loop().time()
    kept = await cache.get("k", source)
    assert kept.is_stale
    assert asyncio.get_running_loop().time() - began == pytest.approx(PATIENCE_S)
    source.gate.set()
    await LoopClock().sleep(1)
    assert (await cache.get("k", source)).value == "reading 2"  # the slow reading was not in vain


@pytest.mark.looptime
async def test_whoever_has_no_patience_gets_the_old_value_at_once_and_the_next_one_the_new() -> None:
    cache = NamedCache[str]("things", LIFE_S, 3, LoopClock())
    source = Source()
    await cache.get("k", source)
    await LoopClock().sleep(LIFE_S + 1)
    source.gate.clear()
    began = asyncio.get_running_loop().time()
    kept = [await cache.get("k", source, wish=AT_ONCE) for _ in range(3)]
    assert {(each.value, each.is_stale) for each in kept} == {("reading 1", True)}
    assert asyncio.get_running_loop().time() == began
    source.gate.set()
    await LoopClock().sleep(1)
    assert (await cache.get("k", source, wish=AT_ONCE)).value == "reading 2"


@pytest.mark.looptime
async def test_what_nobody_waited_for_is_not_repeated_for_every_reader_when_it_fails() -> None:
    cache = NamedCache[str]("things", LIFE_S, 3, LoopClock())
    source = Source()
    await cache.get("k", source)
    await LoopClock().sleep(LIFE_S)
    source.error = Unavailable("op", "down")
    for _ in range(10):
        assert (await cache.get("k", source, wish=AT_ONCE)).is_stale
        await LoopClock().sleep(HOLD_OFF_S / 20)
    assert source.readings == 2


@pytest.mark.looptime
async def test_a_refusal_that_nobody_waited_for_is_heard_by_the_next_reader() -> None:
    cache = NamedCache[str]("things", LIFE_S, 3, LoopClock())
    source = Source()
    await cache.get("k", source)
    await LoopClock().sleep(LIFE_S)
    source.error = Unauthorized("op")
    assert (await cache.get("k", source, wish=AT_ONCE)).is_stale
    await LoopClock().sleep(1)
    with pytest.raises(Unauthorized):
        await cache.get("k", source, wish=AT_ONCE)


async def test_the_least_recently_used_makes_room(cache: NamedCache[str]) -> None:
    source = Source()
    for key in ("a", "b", "c"):
        await cache.get(key, source)
    await cache.get("a", source)
    await cache.get("d", source)
    assert (await cache.get("a", source)).was_cached
    assert not (await cache.get("b", source)).was_cached


async def test_statistics_count_what_happened(cache: NamedCache[str], clock: HandClock) -> None:
    source = Source()
    for key in ("a", "a", "b", "c", "d"):
        await cache.get(key, source)
    seen = cache.stats()
    assert (seen.size, seen.hits, seen.misses, seen.sets, seen.evictions) == (3, 1, 4, 4, 1)
    assert seen.hit_ratio == 0.2
    assert NamedCache("new", 1, 1, clock).stats().hit_ratio == 0


async def test_a_key_can_be_forgotten(cache: NamedCache[str]) -> None:
    source = Source()
    await cache.get("k", source)
    assert cache.delete("k")
    assert not cache.delete("k")
    assert (await cache.get("k", source)).value == "reading 2"


async def test_what_was_being_read_when_it_was_cleared_is_not_kept(cache: NamedCache[str]) -> None:
    source = Source()
    source.gate.clear()
    reader = asyncio.create_task(cache.get("k", source))
    await asyncio.wait({reader}, timeout=0)
    cache.clear()
    source.gate.set()
    assert (await reader).value == "reading 1"
    assert cache.stats().size == 0
    assert (await cache.get("k", source)).value == "reading 2"


async def test_cleaning_forgets_only_what_has_outlived_its_time(
    cache: NamedCache[str], clock: HandClock
) -> None:
    source = Source()
    await cache.get("old", source)
    clock.seconds += LIFE_S
    await cache.get("young", source)
    assert cache.cleanup() == 1
    assert (await cache.get("young", source)).was_cached


async def test_the_registry_finds_clears_and_cleans_caches(cache: NamedCache[str], clock: HandClock) -> None:
    caches = Caches()
    other = NamedCache[str]("others", LIFE_S, 3, clock)
    caches.register(cache)
    caches.register(other)
    source = Source()
    await cache.get("k", source)
    await other.get("k", source)
    assert caches.names() == ("things", "others")
    assert caches.find("others") is other
    assert caches.find("nothing") is None
    assert {name: stats.size for name, stats in caches.stats().items()} == {"things": 1, "others": 1}
    clock.seconds += LIFE_S
    assert caches.cleanup() == 2
    await cache.get("k", source)
    assert caches.clear() == 1


async def test_the_error_of_a_reading_that_nobody_waits_for_is_no_warning(cache: NamedCache[str]) -> None:
    source = Source()
    source.gate.clear()
    source.error = Unavailable("op", "down")
    reader = asyncio.create_task(cache.get("k", source))
    await asyncio.wait({reader}, timeout=0)
    reader.cancel()
    await asyncio.wait({reader})
    source.gate.set()
    await asyncio.wait({reader}, timeout=0)
    assert cache.stats().size == 0


async def test_what_is_not_current_is_read_anew_and_counts_as_a_miss(cache: NamedCache[str]) -> None:
    source = Source()
    await cache.get("k", source)
    kept = await cache.get("k", source, lambda value: value != "reading 1")
    assert (kept.value, kept.was_cached, cache.stats().hits) == ("reading 2", False, 0)


async def test_whoever_joins_a_reading_that_began_too_early_reads_once_more(cache: NamedCache[str]) -> None:
    source = Source()
    source.gate.clear()
    early = asyncio.create_task(cache.get("k", source))
    late = asyncio.create_task(cache.get("k", source, lambda value: value != "reading 1"))
    await asyncio.wait([early, late], timeout=0)
    source.gate.set()
    assert ((await early).value, (await late).value) == ("reading 1", "reading 2")
    assert (await cache.get("k", source)).value == "reading 2"
