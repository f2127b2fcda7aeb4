"""A *bell* wakes a loop that would otherwise sleep until its next poll.

The pump has one, rung by signals and by bodies that end; the keeper has one, rung by cancellations.
"""

import asyncio

from ostler.clock import Clock


class Bell:
    """Rung by signals from the event loop; rings before `wait` are not lost, and many count as one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, at_most_s: float) -> None:
        """Return at the next ring, or after that long."""
        if not self._rung.is_set():
            sleeping = asyncio.ensure_future(self._clock.sleep(at_most_s))
            ringing = asyncio.ensure_future(self._rung.wait())
            try:
                await asyncio.wait((sleeping, ringing), return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleeping.cancel()
                ringing.cancel()
        self._rung.clear()
