"""The tally: the last counts over all rows, taken in the background so that asking for them costs nothing.

Every 10 s, and never more than a twentieth of the time: counting a large fleet must not keep it from its
work. While the database is away the last counts stay, with their age.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from ostler.clock import Clock
from ostler.store.database import Database, StoreUnavailable
from ostler.store.tallies import Tallies, tallies

_EVERY_S = 10.0
_SHARE = 20
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Tally:
    """Keeps the last counts of one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._taken_at: float | None = None
        self.last: Tallies | None = None  # None: the rows were not counted yet

    @property
    def age(self) -> timedelta | None:
        """How old the last counts are."""
        return None if self._taken_at is None else timedelta(seconds=self._clock.monotonic() - self._taken_at)

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[None]:
        """Count now and again and again for as long as the block lasts."""
        counting = asyncio.create_task(self._run(), name="count the rows")
        try:
            yield
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            began = self._clock.monotonic()
            await self._take()
            await self._clock.sleep(max(_EVERY_S, (self._clock.monotonic() - began) * _SHARE))

    async def _take(self) -> None:
        try:
            self.last = await self._database.read(tallies)
        except StoreUnavailable as error:
            _log.warning("the rows cannot be counted", reason=str(error))
        else:
            self._taken_at = self._clock.monotonic()
