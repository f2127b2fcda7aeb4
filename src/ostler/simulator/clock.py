"""The clock of the pretend cloud: its time runs at `speed` × real time.

At speed 0 it stands still until a test turns the crank: the explicit mode. Real time comes in as a
function, so that the clock itself can be tested.
"""

import asyncio
import time
from collections.abc import Callable


class WorldClock:
    """Tells the world's time in unix seconds."""

    def __init__(self, reading: Callable[[], float], *, start: float, speed: float = 1.0) -> None:
        self._reading = reading
        self._since = reading()
        self._start = start
        self.speed = speed
        self.was_turned = True  # by hand, so that nobody can tell its time from what was known before

    def time(self) -> float:
        """Return the instant that the world has reached."""
        return self._start + (self._reading() - self._since) * self.speed

    def real_seconds_since(self, instant: float) -> float:
        """Return how long ago the world's time was this, as far as it passes by itself."""
        return (self.time() - instant) / self.speed if self.speed else 0.0

    def advance(self, seconds: float) -> None:
        """Turn the crank."""
        self._start += seconds
        self.was_turned = True

    def set_speed(self, speed: float) -> None:
        """Go on from here at another speed; 0 stands still."""
        self._start, self._since = self.time(), self._reading()
        self.speed = speed
        self.was_turned = True


def monotonic() -> float:
    """Return real seconds that never run backwards."""
    return time.monotonic()


def wall_time() -> float:
    """Return the real time in unix seconds."""
    return time.time()  # noqa: TID251 -- the simulator imports nothing of ours, so this is its clock.py


async def pause(seconds: float) -> None:
    """Let real seconds pass; other calls go on."""
    await asyncio.sleep(seconds)  # noqa: TID251 -- the simulator imports nothing of ours, so this is its clock.py
