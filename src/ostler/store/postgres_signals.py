"""Topics between processes on PostgreSQL: `LISTEN` on one connection, `NOTIFY` after commits.

NOTIFY inside a transaction makes all commits of the database queue behind one lock. So topics are told
afterwards, those of many commits at once; what gets lost on the way is caught by everybody's poll. A new
connection after a break calls every listener, since signals may have been missed.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Iterable

import psycopg

from ostler.clock import Clock
from ostler.store.database import DatabaseConfig
from ostler.store.signals import Signals

_CHANNEL = "ostler"
_RECONNECT_S = 1.0


class PostgresSignals:
    """The wire between this process's signals and the others'. Lives on the event loop that made it."""

    def __init__(self, config: DatabaseConfig, clock: Clock, signals: Signals) -> None:
        self._conninfo = config.parsed_url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connect_timeout_s = max(2, round(config.connect_timeout_s))
        self._clock = clock
        self._signals = signals
        self._origin = secrets.token_hex(8)
        self._untold: dict[str, None] = {}
        self._has_untold = asyncio.Event()
        self._tasks = [asyncio.create_task(part()) for part in (self._listen, self._tell)]

    def tell_others(self, topics: Iterable[str]) -> None:
        """Have the other processes' listeners of these topics called, soon."""
        self._untold.update(dict.fromkeys(topics))
        if self._untold:
            self._has_untold.set()

    async def close(self) -> None:
        """Stop both directions."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                async with await self._connect() as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self._signals.fire_all()
                    async for notification in connection.notifies():
                        self._hear(notification.payload)
            await self._clock.sleep(_RECONNECT_S)

    def _hear(self, payload: str) -> None:
        origin, _, topic = payload.partition(" ")
        if origin != self._origin:
            self._signals.fire((topic,))

    async def _tell(self) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                async with await self._connect() as connection:
                    await self._tell_through(connection)
            await self._clock.sleep(_RECONNECT_S)

    async def _tell_through(self, connection: psycopg.AsyncConnection) -> None:
        while True:
            await self._has_untold.wait()
            topics, self._untold = self._untold, {}
            self._has_untold.clear()
            payloads = [f"{self._origin} {topic}" for topic in topics]
            await connection.execute(
                "SELECT pg_notify(%s, p) FROM unnest(%s::text[]) AS p", (_CHANNEL, payloads)
            )

    async def _connect(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._conninfo,
            autocommit=True,
            connect_timeout=self._connect_timeout_s,
            keepalives_idle=10,
            tcp_user_timeout=10_000,
            application_name="ostler signals",
        )
