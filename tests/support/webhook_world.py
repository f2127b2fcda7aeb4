"""Processes that send webhooks in virtual time, to a receiver that is a function: no network.

A *world* is a database in memory, the processes that send from it, and every attempt as the receiver saw it.
`making_world` gives one for a block.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.notify.endpoints import Webhooks
from ostler.notify.keyring import Keyring
from ostler.notify.outbound import Reply
from ostler.notify.sender import Sender, SenderConfig
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.store.sealing import FernetSealer
from ostler.store.webhook_deliveries import DeliveryStatus, NewDelivery, insert_deliveries
from ostler.store.webhook_endpoints import EndpointRow, Origin, put_endpoint
from ostler.store.webhook_views import DeliveryFilter, DeliveryView, list_deliveries
from tests.support.cloud import EPOCH, LoopClock

T = TypeVar("T")
SECRET = SecretStr("a configured secret, long enough")
KEYRING = Keyring(FernetSealer(SecretStr("the installation's key")), SECRET)
SELDOM = timedelta(hours=6)  # so that what a test sees is due to signals and due times, not to polling
LEASE_S = 25
TAKEN = Reply(200, 1)
BROKEN = Reply(500, 1, "HTTP 500")
Script = Callable[[str], Awaitable[Reply]]


@dataclass(frozen=True)
class Call:
    """One attempt as the receiver saw it."""

    at: float
    sender: str
    url: str
    event: str
    message_id: str
    headers: Mapping[str, str]
    body: bytes


class PausableDatabase(InlineDatabase):
    """A database whose process stands still for a while after each write, as if it had been stopped."""

    pause_s: float = 0

    async def write(self, work: Callable[[Connection], T]) -> T:
        result = await super().write(work)
        if self.pause_s:
            await LoopClock().sleep(self.pause_s)
        return result


@dataclass
class World:
    """A database, a receiver and the processes that send."""

    storage: InlineStorage
    clock: LoopClock
    calls: list[Call] = field(default_factory=list)
    most_at_once: int = 0
    processes: list[tuple[Sender, asyncio.Task[None]]] = field(default_factory=list)
    _at_once: int = 0
    _databases: list[PausableDatabase] = field(default_factory=list)

    @property
    def database(self) -> PausableDatabase:
        return self._databases[0]

    async def start(self, script: Script, name: str = "one", *, is_exclusive: bool = False) -> Sender:
        """Start a process whose posts are answered by a script."""
        database = PausableDatabase(self.storage, is_exclusive=is_exclusive)
        self._databases.append(database)

        async def post(url: str, headers: Mapping[str, str], body: bytes) -> Reply:
            event = headers["X-Webhook-Event"]
            call = Call(self.clock.monotonic(), name, url, event, headers["webhook-id"], headers, body)
            self.calls.append(call)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                return await script(event)
            finally:
                self._at_once -= 1

        await Webhooks(database, KEYRING, self.clock).settle(None)
        sender = Sender(database, post, KEYRING, self.clock, SenderConfig(name, poll=SELDOM))
        self.processes.append((sender, asyncio.create_task(sender.run())))
        return sender

    async def kill(self, sender: Sender) -> None:
        """End a process without a farewell: nothing of it reaches the database any more."""
        index = next(i for i, (each, _) in enumerate(self.processes) if each is sender)
        _, task = self.processes.pop(index)
        await self._databases.pop(index).close()
        task.cancel()

    async def tell(self, *events: str, instance: str | None = "i-1", endpoint: str = "a") -> None:
        row = EndpointRow(endpoint, Origin.REGISTERED, f"https://{endpoint}.example/", EPOCH)
        await self.database.write(partial(put_endpoint, endpoint=row))
        for event in events:
            new = NewDelivery(endpoint, f"msg_{event}", event, f'"{event}"', instance_id=instance)
            await self.database.write(partial(insert_deliveries, new=[new]))

    async def deliveries(self) -> list[DeliveryView]:
        found = await self.database.read(partial(list_deliveries, wanted=DeliveryFilter(limit=500)))
        return list(reversed(found))

    async def statuses(self) -> list[DeliveryStatus]:
        return [each.status for each in await self.deliveries()]

    def sent(self) -> list[str]:
        return [call.event for call in self.calls]


@asynccontextmanager
async def making_world() -> AsyncIterator[World]:
    clock = LoopClock()
    storage = InlineStorage(clock)
    world = World(storage, clock)
    yield world
    for sender, task in world.processes:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await sender.drain(timedelta(0))
    storage.close()


def always(reply: Reply, after_s: float = 0) -> Script:
    async def script(_: str) -> Reply:
        await LoopClock().sleep(after_s)
        return reply

    return script
