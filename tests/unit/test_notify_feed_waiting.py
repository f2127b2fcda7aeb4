"""Waiting for the next events in virtual time: at once, with the commit, in vain; and what it costs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from ostler.notify.feed import Feed, FeedFilter
from ostler.store.inline import InlineDatabase, InlineStorage
from tests.support.cloud import LoopClock
from tests.support.feed import running, tell

pytestmark = pytest.mark.looptime


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


async def test_who_waits_gets_what_is_there_at_once(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 12)
    turn = await feed.next_page(ids[1], 4, FeedFilter(), 60)
    assert ([event.id for event in turn.events], turn.next_after) == (ids[2:6], ids[5])


async def test_who_waits_gets_the_next_event_with_its_commit(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 3)
    waiting = asyncio.create_task(feed.next_page(ids[-1], 100, FeedFilter(instance_id="i-1"), 60))
    await LoopClock().sleep(1)
    await tell(database, 2, instance_id="i-2")
    assert not waiting.done()
    began = LoopClock().monotonic()
    (wanted,) = await tell(database, instance_id="i-1")
    turn = await waiting
    assert [event.id for event in turn.events] == [wanted]
    assert LoopClock().monotonic() - began < 0.1
    assert feed.follower_count == 0


async def test_who_waited_in_vain_goes_on_behind_what_is_not_wanted(
    database: InlineDatabase, feed: Feed
) -> None:
    ids = await tell(database, 3)
    began = LoopClock().monotonic()
    turn = await feed.next_page(ids[0], 100, FeedFilter(instance_id="i-1"), 30)
    assert (turn.events, turn.next_after) == ((), ids[-1])
    assert LoopClock().monotonic() - began == pytest.approx(30)


async def test_who_waits_for_what_is_lost_is_told_so(database: InlineDatabase, feed: Feed) -> None:
    ids = await tell(database, 3)
    turn = await feed.next_page(9_000, 100, FeedFilter(), 30)
    assert (turn.events, turn.next_after, turn.is_reset) == ((), ids[-1], True)


async def test_closing_ends_those_who_wait(feed: Feed) -> None:
    waiting = asyncio.create_task(feed.next_page(0, 100, FeedFilter(), 600))
    await LoopClock().sleep(1)
    feed.close()
    assert (await waiting).events == ()


async def test_ten_thousand_who_wait_cost_no_reading_and_one_when_it_comes(database: InlineDatabase) -> None:
    reads = 0

    class Counting(InlineDatabase):
        async def read(self, work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            nonlocal reads
            reads += 1
            return await super().read(work)

    counting = Counting(database._storage)
    (last,) = await tell(database)
    async with running(counting) as feed:
        await feed.page(0, 1)
        reads = 0
        waiting = [asyncio.create_task(feed.next_page(last, 100, FeedFilter(), 3000)) for _ in range(10_000)]
        await LoopClock().sleep(1800)
        assert reads == 0
        ids = await tell(database)
        turns = await asyncio.gather(*waiting)
    assert {tuple(event.id for event in turn.events) for turn in turns} == {tuple(ids)}
    assert reads <= 3  # how far the log goes, what it has there
