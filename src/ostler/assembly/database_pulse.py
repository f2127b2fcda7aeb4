"""Whether the database answers and takes writes: asked every few seconds, so that health need not ask.

A database that is away makes Ostler unhealthy: nothing can be accepted, and nothing is carried out. A full
disk can still be read; so a write that was refused counts until another is proven to be taken.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select, true

from ostler.clock import Clock
from ostler.store.database import Database, StoreUnavailable
from ostler.store.proof import prove_writable
from ostler.usecases.health import Finding, Standing

if TYPE_CHECKING:
    from datetime import datetime

_EVERY_S = 5.0
_LATE_S = 15.0


class DatabasePulse:
    """Hears of every transaction, and asks for as long as a block lasts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answered_at: datetime | None = None
        self._trouble: str | None = None
        self._asked_at = clock.monotonic()
        self._refused = 0  # writes that found the database away
        self._outlived = 0  # so many of them are known to be over

    def hear(self, access: str, outcome: str, seconds: float) -> None:
        """Hear how one transaction ended."""
        del seconds
        self._refused += access == "write" and outcome == "away"

    @asynccontextmanager
    async def asking(self, database: Database) -> AsyncIterator[None]:
        """Ask a database while the block lasts."""
        await self._beat(database)
        loop = asyncio.create_task(self._run(database), name="ask the database")
        try:
            yield
        finally:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)

    def finding(self) -> Finding:
        """Return what was heard last."""
        trouble = self._trouble or self._silence()
        if trouble is None and self._refused > self._outlived:
            trouble = "it did not take a write"
        if trouble is not None:
            return Finding(Standing.UNHEALTHY, trouble, self._answered_at, is_vital=True)
        return Finding(Standing.HEALTHY, "answers", self._answered_at, is_vital=True)

    def _silence(self) -> str | None:
        silent_s = self._clock.monotonic() - self._asked_at
        # the question is still under way: a dead line, or a database that is stuck
        return f"no answer for {silent_s:.0f} s" if silent_s > _LATE_S else None

    async def _run(self, database: Database) -> None:
        while True:
            await self._clock.sleep(_EVERY_S)
            await self._beat(database)

    async def _beat(self, database: Database) -> None:
        self._asked_at = self._clock.monotonic()
        refused = self._refused
        try:
            await database.write(prove_writable if refused > self._outlived else _ask)
            await database.read(_ask)
        except StoreUnavailable as error:
            self._trouble = error.trouble.value
        else:
            self._trouble, self._answered_at, self._outlived = None, self._clock.now(), refused


def _ask(connection: Connection) -> None:
    connection.execute(select(true()))
