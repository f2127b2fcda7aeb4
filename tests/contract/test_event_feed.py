"""The feed on real databases: whatever commits when, nobody misses an event or gets them out of order."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, text

from ostler.clock import SystemClock
from ostler.domain.events import PublicEvent
from ostler.notify.feed import Feed, FeedConfig, FeedFilter, Reset
from ostler.store.database import Database
from ostler.store.events import TOPIC, EventRow, append_event, delete_events
from ostler.store.signals import announce
from tests.support.databases import opened

AT = datetime(2026, 3, 1, tzinfo=UTC)
BUSY = FeedConfig(queued=50, page=40, poll=timedelta(seconds=30))
PATIENCE_S = 30
Item = EventRow | Reset


@asynccontextmanager
async def running(database: Database) -> AsyncIterator[Feed]:
    feed = Feed(database, SystemClock(), BUSY)
    task = asyncio.create_task(feed.run())
    try:
        yield feed
    finally:
        feed.close()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def feed(database: Database) -> AsyncIterator[Feed]:
    async with running(database) as feed:
        yield feed


async def tell(database: Database, instance_id: str | None = None) -> int:
    return await database.write(lambda connection: _append(connection, instance_id))


def _append(connection: Connection, instance_id: str | None = None) -> int:
    event_id = append_event(connection, EventRow(PublicEvent.RUNNING, AT, instance_id))
    announce(connection, TOPIC)
    return event_id


async def ids_of(follower: AsyncIterator[Item], count: int) -> list[int]:
    async with asyncio.timeout(PATIENCE_S):
        items = [await anext(follower) for _ in range(count)]
    return [item.id for item in items if isinstance(item, EventRow)]


async def begun(feed: Feed, follower: AsyncIterator[Item], count: int) -> "asyncio.Task[list[int]]":
    before = feed.follower_count
    task = asyncio.create_task(ids_of(follower, count))
    async with asyncio.timeout(PATIENCE_S):
        while feed.follower_count == before:
            await SystemClock().sleep(0.001)
    return task


async def test_the_very_first_event_is_heard(database: Database, feed: Feed) -> None:
    first = await begun(feed, feed.follow(), 1)
    expected = await tell(database)
    assert await first == [expected]


async def test_followers_on_every_process_hear_everything_in_order(database_url: str) -> None:
    """A hundred writers at once, some of which take their time, and some of which give up."""
    async with opened(database_url) as database, running(database) as feed:
        live = await begun(feed, feed.follow(), 90)

        def work(number: int) -> Callable[[Connection], int | None]:
            def write(connection: Connection) -> int | None:
                event_id = _append(connection)
                if connection.dialect.name == "postgresql":
                    connection.execute(text(f"SELECT pg_sleep({number % 7 / 500})"))
                if number % 10 == 0:
                    raise ZeroDivisionError
                return event_id

            return write

        results = await asyncio.gather(
            *(database.write(work(number)) for number in range(100)), return_exceptions=True
        )
        written = sorted(each for each in results if isinstance(each, int))
        assert len(written) == 90
        assert await live == written
        assert await ids_of(feed.follow(after=0), 90) == written
        assert await ids_of(feed.follow(after=written[44]), 45) == written[45:]


@pytest.mark.needs("postgres")
@pytest.mark.parametrize("elder_commits", [True, False])
async def test_nobody_passes_an_event_whose_elder_may_still_commit(
    postgres_url: str, *, elder_commits: bool
) -> None:
    async with opened(postgres_url) as database, running(database) as feed:
        live = await begun(feed, feed.follow(), 1)
        may_end, has_id = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(connection: Connection) -> int:
            event_id = _append(connection)
            loop.call_soon_threadsafe(has_id.set)
            may_end.wait(PATIENCE_S)
            if not elder_commits:
                raise ZeroDivisionError
            return event_id

        elder = asyncio.create_task(database.write(slow))
        await has_id.wait()
        younger = await tell(database)
        found = await feed.page(0, 10)
        assert found.events == ()
        assert not live.done()
        may_end.set()
        if elder_commits:
            assert await live == [await elder]
            assert await elder < younger
        else:
            with pytest.raises(ZeroDivisionError):
                await elder
            assert await live == [younger]


@pytest.mark.needs("postgres")
async def test_an_event_written_by_another_process_is_heard_at_once(postgres_url: str) -> None:
    async with opened(postgres_url) as here, opened(postgres_url) as there, running(here) as feed:
        await tell(there)
        live = await begun(feed, feed.follow(wanted=FeedFilter(instance_id="i-1")), 1)
        await tell(there, "i-2")
        began = SystemClock().monotonic()
        expected = await tell(there, "i-1")
        assert await live == [expected]
        assert SystemClock().monotonic() - began < BUSY.poll.total_seconds() / 3


@pytest.mark.needs("postgres")
async def test_a_client_that_moves_to_a_process_that_is_behind_gets_no_reset(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as two, running(one) as ahead:
        live = await begun(ahead, ahead.follow(), 2)
        ids = [await tell(one), await tell(one)]
        assert await live == ids
        behind = Feed(two, SystemClock(), BUSY)
        await behind.page(0, 1)
        third = await tell(one)
        moved = asyncio.create_task(ids_of(behind.follow(after=third), 1))
        running_behind = asyncio.create_task(behind.run())
        fourth = await tell(one)
        assert await moved == [fourth]
        running_behind.cancel()


async def test_what_was_thinned_is_told_as_a_reset(database: Database, feed: Feed) -> None:
    ids = [await tell(database) for _ in range(6)]
    await database.write(lambda connection: delete_events(connection, AT + timedelta(days=1), 4))
    follower = feed.follow(after=ids[0])
    async with asyncio.timeout(PATIENCE_S):
        assert isinstance(await anext(follower), Reset)
    last = await tell(database)
    seen = await ids_of(follower, 1)
    while seen[-1] != last:
        seen += await ids_of(follower, 1)
    assert seen == sorted(set(seen))
    assert ids[0] not in seen
