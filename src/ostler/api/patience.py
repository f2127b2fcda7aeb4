"""Patience: how long a request waits for what only the cloud can say, before it is answered without.

What was asked of the cloud goes on meanwhile and is kept: whoever asks again finds it. Where it is plain that
a call cannot even leave in time, nobody is kept waiting; who is refused hears why, and when to ask again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from ostler.clock import Clock
from ostler.cloud.lanes import LanesSnapshot
from ostler.cloud.refusals import CloudRefusal, Queued, Silenced, TimedOut

T = TypeVar("T")

PATIENCE_S = 10.0  # a cloud that is well answers the whole catalogue in one or two
_GLANCE_S = 0.5  # enough for what is known


class Patience:
    """Waits for what is asked of the cloud, knowing how things stand on the way there."""

    def __init__(self, lanes: Callable[[], LanesSnapshot], clock: Clock) -> None:
        self._lanes = lanes
        self._clock = clock

    async def in_time(self, what: str, answer: Awaitable[T]) -> T:
        """Return the answer; raise the refusal that says why it does not come in time."""
        is_in_vain = self._lanes().next_read_in_s > PATIENCE_S
        asking = asyncio.ensure_future(answer)
        try:
            done, _ = await asyncio.wait({asking}, timeout=_GLANCE_S if is_in_vain else PATIENCE_S)
            if done:
                return asking.result()
            raise self._refusal(what)  # while what is asked still stands in its queue
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _refusal(self, what: str) -> CloudRefusal:
        way = self._lanes()
        if way.held_for_s > 0:
            return Silenced(what, self._clock.now() + timedelta(seconds=way.held_for_s), way.held_for_s)
        queued = sum(way.queued.values())
        if queued and way.next_read_in_s > 0:
            return Queued(what, queued, way.next_read_in_s)
        return TimedOut(what, f"no answer within {PATIENCE_S:g} s")
