"""The live feed in virtual time: from the log, then live; slow followers; what is lost is told."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from functools import partial

import pytest

from ostler.domain.events import PublicEvent
from ostler.notify.feed import Feed, FeedFilter, Reset, Turn
from ostler.store.events import EventRow, delete_events, read_events
from ostler.store.inline import InlineDatabase, InlineStorage
from tests.support.cloud import EPOCH, LoopClock
from tests.support.feed import running, tell

pytestmark = pytest.mark.looptime
Item = EventRow | Reset


@pytest.fixture
def storage() -> Iterator[InlineStorage]:
    storage = InlineStorage(LoopClock())
    with contextlib.closing(storage):
        yield storage


@pytest.fixture
async def database(storage: InlineStorage) -> InlineDatabase:
    return InlineDatabase(storage)


@pytest.fixture
async def feed(database: InlineDatabase) -> AsyncIterator[Feed]:
    async with running(database) as feed:
        yield feed


async def thin(database: InlineDatabase, count: int) -> None:
    await database.write(partial(delete_events, before=EPOCH + timedelta(days=1), limit=count))


async def taken(follower: AsyncIterator[Item], count: int) -> list[Item]:
    """Return the next items; virtual time makes the patience free."""
    async with asyncio.timeout(24 * 3600):
        return [await anext(follower) for _ in range(count)]


async def ids_of(follower: AsyncIterator[Item], count: int) -> list[int]:
    return [item.id for item in await taken(follower, count) if isinstance(item, EventRow)]


async def begun(follower: AsyncIterator[Item]) -> "asyncio.Task[list[int]]":
    """Begin to follow, and return the task that gets the first item."""
    first = asyncio.create_task(ids_of(follower, 1))
    await LoopClock().sleep(1)
    return first


async def test_a_follower_hears_what_happens_from_now_on(database: InlineDatabase, feed: Feed) -> None:
    await tell(database, 3)
    follower = feed.follow()
    first = await begun(follower)
    assert not first.done()
    ids = await tell(database, 4)
    assert [*await first, *await ids_of(follower, 3)] == ids


async def test_an_event_reaches_its_follower_with_its_commit(database: InlineDatabase, feed: Feed) -> None:
    first = await begun(feed.follow())
    began = LoopClock().monotonic()
    await tell(database)
    await first
    assert LoopClock().monotonic() - began < 0.1


async def test_a_follower_that_comes_back_gets_what_it_missed_and_then_what_comes(
    database: InlineDatabase, feed: Feed
) -> None:
    ids = await tell(database, 23)
    follower = feed.follow(after=ids[4])
    assert await ids_of(follower, 18) == ids[5:]
    more = await tell(database, 3)
    assert await ids_of(follower, 3) == more


async def test_zero_means_the_whole_log(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 12)
    assert await ids_of(feed.follow(after=0), 12) == ids
    await thin(database, 6)
    assert await ids_of(feed.follow(after=0), 6) == ids[6:]


async def test_nothing_is_lost_or_doubled_while_the_log_grows_during_the_catching_up(
    database: InlineDatabase, feed: Feed
) -> None:
    ids = await tell(database, 30)
    follower = feed.follow(after=ids[0])
    seen = []
    for _ in range(29):
        seen += await ids_of(follower, 1)
        ids += await tell(database)
    seen += await ids_of(follower, len(ids) - 1 - len(seen))
    assert seen == ids[1:]


async def test_a_slow_follower_goes_on_from_the_log_and_keeps_nobody_waiting(
    database: InlineDatabase, feed: Feed
) -> None:
    slow, quick = feed.follow(), feed.follow()
    first_of_slow, first_of_quick = await begun(slow), await begun(quick)
    ids = await tell(database, 40)
    assert [*await first_of_quick, *await ids_of(quick, 39)] == ids
    assert [*await first_of_slow, *await ids_of(slow, 39)] == ids


async def test_a_slow_follower_whose_place_was_thinned_is_told_so(
    database: InlineDatabase, feed: Feed
) -> None:
    slow = feed.follow()
    first = await begun(slow)
    ids = await tell(database, 40)
    await LoopClock().sleep(1)
    await thin(database, 30)
    assert await first == ids[:1]
    (item,) = await taken(slow, 1)
    assert item == Reset(ids[-1])
    more = await tell(database, 2)
    assert await ids_of(slow, 2) == more


async def test_an_id_older_than_the_log_means_a_reset(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 10)
    await thin(database, 5)
    follower = feed.follow(after=ids[1])
    assert await taken(follower, 1) == [Reset(ids[-1])]
    more = await tell(database)
    assert await ids_of(follower, 1) == more


async def test_the_last_id_before_the_log_begins_is_not_too_old(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 10)
    await thin(database, 5)
    assert await ids_of(feed.follow(after=ids[4]), 5) == ids[5:]


@pytest.mark.parametrize("foreign", [9_000, 10**30])
async def test_an_id_of_another_database_means_a_reset(
    database: InlineDatabase, feed: Feed, foreign: int
) -> None:
    ids = await tell(database, 3)
    assert await taken(feed.follow(after=foreign), 1) == [Reset(ids[-1])]
    assert await feed.page(foreign, 10) == Turn((), ids[-1], is_reset=True)


async def test_a_log_that_was_emptied_means_a_reset(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 3)
    await begun(feed.follow())
    await thin(database, 3)
    assert await taken(feed.follow(after=ids[0]), 1) == [Reset(ids[-1])]


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (FeedFilter(), "abcdef"),
        (FeedFilter(instance_id="i-1"), "abe"),
        (FeedFilter(project="blue"), "acd"),
        (FeedFilter(instance_id="i-1", project="blue"), "a"),
        (FeedFilter(names=("instance.*",)), "abcf"),
        (FeedFilter(names=("instance.ready", "account.*")), "bd"),
        (FeedFilter(instance_id="i-1", names=("operation.succeeded",)), "e"),
        (FeedFilter(names=("nothing.*",)), ""),
    ],
)
async def test_a_follower_gets_what_it_asked_for(
    database: InlineDatabase, feed: Feed, wanted: FeedFilter, expected: str, *, is_live: bool
) -> None:
    follower = feed.follow(None if is_live else 0, wanted)
    seen: list[Item] = []

    async def gather() -> None:
        async for item in follower:
            seen.append(item)  # noqa: PERF401 -- it never ends

    task = asyncio.create_task(gather())
    await LoopClock().sleep(1)
    (a,) = await tell(database, 1, PublicEvent.RUNNING, "i-1", "blue")
    (b,) = await tell(database, 1, PublicEvent.READY, "i-1", "red")
    (c,) = await tell(database, 1, PublicEvent.RUNNING, "i-2", "blue")
    (d,) = await tell(database, 1, PublicEvent.ACCOUNT_SUSPECT, None, "blue")
    (e,) = await tell(database, 1, PublicEvent.OPERATION_SUCCEEDED, "i-1")
    (f,) = await tell(database, 1, PublicEvent.EXITED, "i-3")
    await LoopClock().sleep(1)
    names = {a: "a", b: "b", c: "c", d: "d", e: "e", f: "f"}
    assert "".join(names[item.id] for item in seen if isinstance(item, EventRow)) == expected
    page = await feed.page(0, 100, wanted)
    assert "".join(names[event.id] for event in page.events) == expected
    task.cancel()


async def test_who_has_left_is_forgotten(database: InlineDatabase, feed: Feed) -> None:
    follower = feed.follow(wanted=FeedFilter(instance_id="i-1"))
    first = await begun(follower)
    assert feed.follower_count == 1
    await tell(database, instance_id="i-1")
    await first
    await follower.aclose()  # type: ignore[attr-defined]  # an async generator
    assert feed.follower_count == 0


async def test_closing_ends_everybody(feed: Feed) -> None:
    async def all_of(follower: AsyncIterator[Item]) -> list[Item]:
        return [item async for item in follower]

    followers = [asyncio.create_task(all_of(feed.follow())) for _ in range(3)]
    await LoopClock().sleep(1)
    feed.close()
    assert await asyncio.gather(*followers) == [[], [], []]


async def test_a_thousand_followers_read_the_log_once(database: InlineDatabase) -> None:
    reads = 0

    class Counting(InlineDatabase):
        async def read(self, work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            nonlocal reads
            reads += getattr(work, "func", None) is read_events
            return await super().read(work)

    counting = Counting(database._storage)
    async with running(counting) as feed:
        followers = [feed.follow() for _ in range(1000)]
        firsts = [asyncio.create_task(ids_of(follower, 1)) for follower in followers]
        await LoopClock().sleep(1)
        reads = 0
        ids = await tell(database)
        assert await asyncio.gather(*firsts) == [ids] * 1000
        assert reads == 1
        for follower in followers:
            await follower.aclose()  # type: ignore[attr-defined]  # an async generator
        reads = 0
        await tell(database, 20)
        assert reads == 0  # what nobody wants is not read


async def test_the_feed_outlives_a_database_that_goes_away(
    storage: InlineStorage, database: InlineDatabase, feed: Feed
) -> None:
    first = await begun(feed.follow())
    storage.is_away = True
    await LoopClock().sleep(7200)
    storage.is_away = False
    ids = await tell(database)
    assert await first == ids
