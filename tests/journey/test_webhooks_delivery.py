"""Webhooks end to end: a real database, real sockets, and receivers that use the official library."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.clock import SystemClock
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Change, Instance, accepted
from ostler.domain.marks import new_instance_id
from ostler.domain.work import Work
from ostler.notify.endpoint_requests import EndpointWish
from ostler.notify.endpoints import Webhooks
from ostler.notify.fanout import fan_out
from ostler.store.database import Database
from ostler.store.webhook_deliveries import DeliveryStatus
from ostler.store.webhook_views import DeliveryFilter, DeliveryView
from ostler.usecases.record import Edit, Occasion, Recorder
from tests.support.builders import NOW, a_spec
from tests.support.databases import opened
from tests.support.receiver import Answer, Received, receiving
from tests.support.webhook_process import CONFIGURED, sending

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30
OWN = SecretStr("whsec_" + "c2VjcmV0IG9mIGFuIGVuZHBvaW50LCBsb25nIGVub3VnaA==")
NAMES = (
    PublicEvent.STARTING,
    PublicEvent.RUNNING,
    PublicEvent.USABLE,
    PublicEvent.HEALTH,
    PublicEvent.EXITED,
)


def no_work(connection: Connection, work: Work) -> None:
    """Take work in and forget it."""


RECORDER = Recorder(no_work, [fan_out])


def new_id(number: int) -> str:
    return new_instance_id(NOW, number.to_bytes(10))


async def live(database: Database, instance_id: str, webhook_url: str | None = None) -> None:
    """Write an instance's life into the log: its creation and some events after it."""
    spec = replace(a_spec(), webhook_url=webhook_url, envs={"TOKEN": "canary-value"})
    edit = Edit(accepted(instance_id, spec, None, NOW))
    await database.write(lambda connection: RECORDER.admit(connection, edit, Occasion(NOW)))
    for name in NAMES:
        await database.write(partial(_tell, instance_id=instance_id, name=name))


def _tell(connection: Connection, instance_id: str, name: PublicEvent) -> None:
    def step(instance: Instance) -> Change:
        return Change(instance).telling(name)

    RECORDER.apply(connection, instance_id, step, Occasion(NOW))


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    clock = SystemClock()
    patience = clock.monotonic() + PATIENCE_S
    while not await is_so():
        assert clock.monotonic() < patience, "it never became so"
        await clock.sleep(0.01)


async def all_delivered(webhooks: Webhooks, count: int) -> list[DeliveryView]:
    """Wait until there are so many deliveries and all were taken; return them, oldest first."""
    found: list[DeliveryView] = []

    async def is_so() -> bool:
        found[:] = reversed(await webhooks.deliveries(DeliveryFilter(limit=500)))
        return len(found) == count and all(each.status is DeliveryStatus.DELIVERED for each in found)

    await until(is_so)
    return found


async def test_a_receiver_that_uses_the_official_library_accepts_every_message(database: Database) -> None:
    async with receiving() as mine, receiving() as registered, sending(database) as webhooks:
        await webhooks.register(EndpointWish(registered.url, ("instance.running",), secret=OWN), "ann")
        await live(database, new_id(1), mine.url)
        await all_delivered(webhooks, 7)
        assert all(each.is_signed_with(CONFIGURED.get_secret_value().encode()) for each in mine.received)
        (selected,) = registered.received
        assert selected.is_signed_with(OWN.get_secret_value())
        assert not selected.is_signed_with(CONFIGURED.get_secret_value().encode())
        assert selected.said["event"] == "instance.running"
        assert selected.message_id in {each.message_id for each in mine.received}
        assert not any(b"canary-value" in each.body for each in mine.received)


async def test_the_events_of_each_instance_arrive_in_order(database: Database) -> None:
    async with receiving() as receiver, sending(database) as webhooks:
        ids = [new_id(number) for number in range(8)]
        await asyncio.gather(*(live(database, instance_id, receiver.url) for instance_id in ids))
        await all_delivered(webhooks, 48)
        for instance_id in ids:
            mine = [
                each.said["sequence"] for each in receiver.received if each.said["instanceId"] == instance_id
            ]
            assert mine == [1, 2, 3, 4, 5, 6]
        assert receiver.most_at_once <= 4


async def test_two_senders_share_the_work_and_nobody_hears_anything_twice(database_url: str) -> None:
    async with opened(database_url) as database, receiving() as receiver:
        async with sending(database, "one") as webhooks, sending(database, "two"):
            await asyncio.gather(*(live(database, new_id(number), receiver.url) for number in range(10)))
            await all_delivered(webhooks, 60)
        assert len(receiver.received) == len({each.message_id for each in receiver.received}) == 60
        assert receiver.most_at_once <= 4


async def test_a_failed_message_comes_again_with_the_same_id_and_a_new_signature(database: Database) -> None:
    """Five seconds of real time: the first wait of the schedule."""
    asked: list[Received] = []

    def script(received: Received) -> Answer:
        asked.append(received)
        return Answer(503 if len(asked) == 1 else 204)

    async with receiving(script) as receiver, sending(database) as webhooks:
        registered = await webhooks.register(EndpointWish(receiver.url, secret=OWN), "ann")
        await webhooks.test(registered.endpoint.id)
        (view,) = await all_delivered(webhooks, 1)
    first, second = asked
    assert first.message_id == second.message_id == view.message_id
    assert first.body == second.body
    assert first.is_signed_with(OWN.get_secret_value())
    assert second.is_signed_with(OWN.get_secret_value())
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]
    assert [attempt.status for attempt in view.log] == [503, 204]


async def test_a_replay_is_the_same_message_again(database: Database) -> None:
    async with receiving() as receiver, sending(database) as webhooks:
        await live(database, new_id(1), receiver.url)
        views = await all_delivered(webhooks, 6)
        await webhooks.replay(views[2].id)
        await receiver.until_received(7)
        await all_delivered(webhooks, 6)
        original, again = receiver.received[2], receiver.received[6]
        assert (original.message_id, original.body) == (again.message_id, again.body)
        assert again.is_signed_with(CONFIGURED.get_secret_value().encode())


async def test_a_receiver_that_stalls_keeps_no_other_waiting(database: Database) -> None:
    release = asyncio.Event()

    def stalls(_: Received) -> Answer:
        return Answer(before=release.wait)

    async with receiving(stalls) as slow, receiving() as quick, sending(database) as webhooks:
        await asyncio.gather(*(live(database, new_id(number), slow.url) for number in range(6)))
        await slow.until_received(4)
        await live(database, new_id(9), quick.url)
        await quick.until_received(6)
        assert len(slow.received) == 4
        release.set()
        await all_delivered(webhooks, 42)


@asynccontextmanager
async def process(url: str, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process that sends, until the block ends or it was killed."""
    arguments = ("-m", "tests.support.webhook_process", url, name)
    started = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert started.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            assert await started.stdout.readline() == b"sending\n"
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def test_a_process_killed_between_sending_and_writing_is_followed_by_the_same_message(
    tmp_path: Path,
) -> None:
    """`kill -9` while the receiver has the message and nobody has its answer."""
    url = f"sqlite:///{tmp_path}/ostler.db"
    processes: list[asyncio.subprocess.Process] = []

    async def kill_the_sender() -> None:
        processes[-1].send_signal(signal.SIGKILL)
        await processes[-1].wait()

    def script(_: Received) -> Answer:
        return Answer(before=kill_the_sender) if len(receiver.received) == 1 else Answer()

    async with receiving(script) as receiver:
        async with opened(url) as database:
            await live(database, new_id(1), receiver.url)
        async with process(url, "doomed") as doomed:
            processes.append(doomed)
            await receiver.until_received(1)
            await doomed.wait()
        async with process(url, "successor"):
            await receiver.until_received(7)
        first, again, *_ = receiver.received
        assert (first.message_id, first.body) == (again.message_id, again.body)
        assert again.is_signed_with(CONFIGURED.get_secret_value().encode())
        assert [each.said["sequence"] for each in receiver.received] == [1, 1, 2, 3, 4, 5, 6]
