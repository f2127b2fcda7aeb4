"""The Clock port: the only way in which Ostler learns the time or waits.

Instants are aware UTC datetimes (for rows and people); `monotonic` is for measuring and deadlines.
Rows on a database are compared with the database's own clock, never with this one.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What a part needs in order to know the time and to wait."""

    def now(self) -> datetime:
        """Return the instant, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; other tasks go on."""
        ...


class SystemClock:
    """The machine's clock. Under looptime its monotonic part is virtual: it is the event loop's."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SteadyClock:
    """A clock that is never put back: when the machine's is, time goes on from where it was, at its pace.

    Rows, leases and looks at the cloud are ordered by instants; after a step back, what is new would be taken
    for old until the machine's clock has caught up. Forward it follows at once: a machine that slept has to
    notice.
    """

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self._given: tuple[datetime, float] | None = (
            None  # what was told last, and when by the monotonic clock
        )

    def now(self) -> datetime:
        at, measured = self._machine.now(), self._machine.monotonic()
        given = self._given  # taken once: other threads ask, too
        if given is not None:
            last, measured_then = given
            at = max(at, last + timedelta(seconds=measured - measured_then))
        self._given = (at, measured)
        return at

    def monotonic(self) -> float:
        return self._machine.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._machine.sleep(seconds)
