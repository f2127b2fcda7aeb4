"""The live feed on a database in memory: begun and ended with a block, and told what happens."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from ostler.domain.events import PublicEvent
from ostler.notify.feed import Feed, FeedConfig
from ostler.store.events import TOPIC, EventRow, append_event
from ostler.store.inline import InlineDatabase
from ostler.store.signals import announce
from tests.support.cloud import EPOCH, LoopClock

QUICK = FeedConfig(queued=8, page=5, poll=timedelta(hours=1))


@asynccontextmanager
async def running(database: InlineDatabase) -> AsyncIterator[Feed]:
    """Run a feed for a block."""
    feed = Feed(database, LoopClock(), QUICK)
    task = asyncio.create_task(feed.run())
    yield feed
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def tell(
    database: InlineDatabase,
    count: int = 1,
    name: PublicEvent = PublicEvent.RUNNING,
    instance_id: str | None = None,
    project: str | None = None,
) -> list[int]:
    """Write events and let everybody who was woken run; return their ids."""
    ids = []
    for _ in range(count):
        event = EventRow(name, EPOCH, instance_id, None, project)

        def work(connection, event=event) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001
            announce(connection, TOPIC)
            return append_event(connection, event)

        ids.append(await database.write(work))
    await LoopClock().sleep(0.01)  # virtual: whoever was woken has run
    return ids
