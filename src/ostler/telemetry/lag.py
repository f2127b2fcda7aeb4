"""The event loop's lag: by how much a short sleep comes back late, measured all the time.

Everything in a process shares one loop: whoever holds it up holds up every request, lease and watch. The
lag tells so before anybody complains.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ostler.clock import Clock

_EVERY_S = 0.25


@asynccontextmanager
async def measuring_lag(clock: Clock, tell: Callable[[float], None]) -> AsyncIterator[None]:
    """Measure while the block lasts, and tell each measurement in seconds."""
    measuring = asyncio.create_task(_measure(clock, tell), name="measure the loop's lag")
    try:
        yield
    finally:
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)


async def _measure(clock: Clock, tell: Callable[[float], None]) -> None:
    while True:
        began = clock.monotonic()
        await clock.sleep(_EVERY_S)
        tell(max(0.0, clock.monotonic() - began - _EVERY_S))
