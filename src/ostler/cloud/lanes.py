"""The lanes: every call to the cloud queues here for its turn, so that the rate limit is never met.

Users go before the watcher, the watcher before the rest, first come first served; but what a user commands
goes before what users read. Only users may take the last tokens of the rate and the last slots in flight,
and half of those only commands: a stop overtakes a thousand queued reads, whoever asked for them. The watcher
takes at most half of the rate. Who is next is decided in one place that never waits (`_serve`).
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ostler.cloud.bucket import Bucket
from ostler.cloud.lane import Lane

USER_TOKENS = 10  # stay reserved for what users do
MAX_HOLD_S = 300.0  # however long the cloud asks us to be silent


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much may be done: calls in any minute (0: no limit) and calls in flight."""

    per_minute: int
    in_flight: int

    @property
    def burst(self) -> int:
        """Calls that may leave at once; with the steady rate they stay within the minute's limit."""
        return max(1, self.per_minute // 5)

    @property
    def steady_per_minute(self) -> int:
        """Calls per minute once the burst is spent."""
        return max(1, self.per_minute - self.burst)

    @property
    def user_tokens(self) -> int:
        """Tokens of the burst that only users may take."""
        return min(USER_TOKENS, self.burst // 2)

    @property
    def user_slots(self) -> int:
        """Slots in flight that only users may take."""
        return self.in_flight // 4


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a call queues, and how much of what is reserved for users it leaves untouched."""

    lane: Lane
    leaves: float  # of the reserve: a share


_COMMANDS = _Place(Lane.USER, 0.0)
_BY_LANE = {
    Lane.USER: _Place(Lane.USER, 0.5),
    Lane.WATCHER: _Place(Lane.WATCHER, 1.0),
    Lane.BACKGROUND: _Place(Lane.BACKGROUND, 1.0),
}
_PLACES = (_COMMANDS, *(_BY_LANE[lane] for lane in Lane))  # in order of precedence


@dataclass(frozen=True, slots=True)
class LanesSnapshot:
    """What can be seen of the queues at one instant."""

    queued: Mapping[Lane, int]
    in_flight: Mapping[Lane, int]
    held_for_s: float  # the cloud has asked for silence for so long still
    next_read_in_s: float  # until a user's read that comes now is let go, as far as rate and silence go


def _head(queue: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
    """Return who waits longest and still does."""
    while queue and queue[0].done():
        queue.popleft()
    return queue[0] if queue else None


class Lanes:
    """Admits calls to the cloud. Bound to one event loop, whose clock it keeps."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._queues: Mapping[_Place, deque[asyncio.Future[None]]] = {place: deque() for place in _PLACES}
        self._in_flight = dict.fromkeys(Lane, 0)
        self._all = Bucket(allowance.burst, allowance.steady_per_minute / 60)
        # half the steady rate, and half of the burst that is open to it
        self._watchers = Bucket(
            max(1, (allowance.burst - allowance.user_tokens) // 2), allowance.steady_per_minute / 120
        )
        self._held_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, lane: Lane, *, is_command: bool) -> float:
        """Wait for this call's turn and return the seconds waited; every turn ends with `leave`.

        A command changes something, or must be known before anything is changed.
        """
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        turn = loop.create_future()
        place = _COMMANDS if is_command and lane is Lane.USER else _BY_LANE[lane]
        self._queues[place].append(turn)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the turn came in the same moment
                for bucket in self._buckets_of(lane):
                    bucket.give_back()
                self.leave(lane)
            raise
        return loop.time() - began_at

    def leave(self, lane: Lane) -> None:
        """Give the slot in flight back."""
        self._in_flight[lane] -= 1
        self._serve()

    def hold(self, seconds: float) -> None:
        """Let nobody go for so long: the cloud has asked for it."""
        until = asyncio.get_running_loop().time() + min(seconds, MAX_HOLD_S)
        self._held_until = max(self._held_until, until)

    def snapshot(self) -> LanesSnapshot:
        """Return what can be seen now."""
        now = asyncio.get_running_loop().time()
        queued = dict.fromkeys(Lane, 0)
        for place, queue in self._queues.items():
            queued[place.lane] += sum(not turn.done() for turn in queue)
        return LanesSnapshot(
            MappingProxyType(queued),
            MappingProxyType(dict(self._in_flight)),
            max(0.0, self._held_until - now),
            self._seconds_until_token(_BY_LANE[Lane.USER], now, ahead=queued[Lane.USER]),
        )

    def close(self) -> None:
        """Stop the timer; whoever still waits is cancelled by its own task."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _serve(self) -> None:
        """Let go whoever may go now, the most important first, and come back when the next token is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = asyncio.get_running_loop().time()
        waits = [self._serve_place(place, now) for place in _PLACES]
        soonest = min((wait for wait in waits if wait is not None), default=None)
        if soonest is not None:
            self._timer = asyncio.get_running_loop().call_later(soonest, self._serve)

    def _serve_place(self, place: _Place, now: float) -> float | None:
        """Let go whoever may go; return the seconds until the next may, None when no timer can tell."""
        queue = self._queues[place]
        while (turn := _head(queue)) is not None and self._has_slot(place):
            wait = self._seconds_until_token(place, now)
            if wait > 0:
                return wait
            for bucket in self._buckets_of(place.lane):
                bucket.take(now)
            self._in_flight[place.lane] += 1
            queue.popleft()
            turn.set_result(None)
        return None

    def _has_slot(self, place: _Place) -> bool:
        kept = int(place.leaves * self._allowance.user_slots)
        return sum(self._in_flight.values()) < self._allowance.in_flight - kept

    def _seconds_until_token(self, place: _Place, now: float, ahead: int = 0) -> float:
        kept = ahead + int(place.leaves * self._allowance.user_tokens)
        waits = [
            bucket.seconds_until(1 + kept if bucket is self._all else 1, now)
            for bucket in self._buckets_of(place.lane)
        ]
        return max(self._held_until - now, *waits, 0.0)

    def _buckets_of(self, lane: Lane) -> tuple[Bucket, ...]:
        if not self._allowance.per_minute:
            return ()
        return (self._all, self._watchers) if lane is Lane.WATCHER else (self._all,)
