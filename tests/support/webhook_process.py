"""A process that sends webhooks from a database, for a test to kill; and the same inside the test's process.

`python -m tests.support.webhook_process <database URL> <name>` says `sending` once it runs, and never ends by
itself.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from pydantic import SecretStr

from ostler.clock import SystemClock
from ostler.cloud.reach import Reach
from ostler.notify.endpoints import Webhooks
from ostler.notify.keyring import Keyring
from ostler.notify.outbound import Outbound, OutboundConfig
from ostler.notify.sender import Sender, SenderConfig
from ostler.store.database import Database
from ostler.store.sealing import FernetSealer
from tests.support.databases import opened

SEALER = FernetSealer(SecretStr("the installation's key"))
CONFIGURED = SecretStr("a configured secret of good length")
TIMEOUT_S = 5


@asynccontextmanager
async def sending(database: Database, name: str = "one") -> AsyncIterator[Webhooks]:
    """Send from a database for a block, over real sockets; give the use cases."""
    keyring, clock = Keyring(SEALER, CONFIGURED), SystemClock()
    webhooks = Webhooks(database, keyring, clock)
    await webhooks.settle(None)
    outbound = Outbound(OutboundConfig(TIMEOUT_S, Reach(allow_loopback=True)), clock)
    config = SenderConfig(name, timedelta(seconds=TIMEOUT_S))
    sender = Sender(database, outbound.post, keyring, clock, config)
    task = asyncio.create_task(sender.run())
    try:
        yield webhooks
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await sender.drain(timedelta(seconds=1))
        await outbound.aclose()


async def _send_until_killed(url: str, name: str) -> None:
    async with opened(url, busy_timeout_s=5) as database, sending(database, name):
        sys.stdout.write("sending\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_send_until_killed(sys.argv[1], sys.argv[2]))
