"""How much one caller may ask in a window of time, and how it is told: `RateLimit-*`, `Retry-After`.

A *window* belongs to whoever holds a key, sessions with it included, or without keys to an address. It begins
with the first request and lets the next one begin when it is over, so that "try again in so many seconds" is
true. Wrong keys are counted by the address that showed them. Each process counts for itself.
"""

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import Scope

from ostler.api.client_address import Network, client_address
from ostler.api.error_table import asked_wrongly
from ostler.api.problems import Problem
from ostler.clock import Clock
from ostler.domain.errors import TooManyRequests

_MOST_WINDOWS = 10_000  # of each kind; the oldest are forgotten, and with them what they counted
_SITE_BITS = 64  # of an IPv6 address: whoever has one has all of its network
_MS = 1000
_TICK_S = 0.0005  # what sums of seconds lose in their last digits is no second
ALLOWANCE = "allowance"  # in a request's state: the headers that tell what is left


@dataclass(frozen=True, slots=True)
class Quota:
    """How many requests in how long."""

    requests: int
    window_ms: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What became of one request: how many more there may be, and when all of them may again."""

    is_allowed: bool
    left: int
    resets_in_s: int


@dataclass(slots=True)
class _Window:
    ends_at: float
    used: int = 0


class Windows:
    """Counts the requests of each asker."""

    def __init__(self, quota: Quota, clock: Clock, most: int = _MOST_WINDOWS) -> None:
        self._quota = quota
        self._clock = clock
        self._most = most
        self._open: OrderedDict[str, _Window] = OrderedDict()  # all last as long: the first ends first

    def __len__(self) -> int:
        return len(self._open)

    def take(self, who: str) -> Turn:
        """Count one request, and tell whether it may be."""
        now = self._clock.monotonic()
        window = self._open.get(who)
        if window is None or window.ends_at - _TICK_S <= now:
            window = self._begin(who, now)
        is_allowed = window.used < self._quota.requests
        window.used += is_allowed
        return Turn(is_allowed, self._quota.requests - window.used, math.ceil(window.ends_at - now - _TICK_S))

    def _begin(self, who: str, now: float) -> _Window:
        self._open.pop(who, None)
        while self._open:
            oldest = next(iter(self._open))
            if self._open[oldest].ends_at > now and len(self._open) < self._most:
                break
            del self._open[oldest]
        window = self._open[who] = _Window(now + self._quota.window_ms / _MS)
        return window


class Limits:
    """One per process. `count` hears of every request that was one too many: of a `key` or an `address`."""

    def __init__(
        self, quota: Quota, clock: Clock, count: Callable[[str], None], trusted: Sequence[Network] = ()
    ) -> None:
        self._quota = quota
        self._limit = b"%d" % quota.requests
        self._count = count
        self._trusted = trusted
        self._keys = Windows(quota, clock)
        self._addresses = Windows(quota, clock)
        self._impostors = Windows(quota, clock)

    def of_key(self, key_id: str, scope: Scope) -> Problem | None:
        """Count a request of whoever holds a key; return what to answer if it is one too many."""
        return self._judged(self._keys.take(key_id), "key", scope)

    def of_address(self, scope: Scope) -> Problem | None:
        """Count a request of somebody who is known by an address alone."""
        return self._judged(self._addresses.take(self._site_of(scope)), "address", scope)

    def of_wrong_key(self, scope: Scope) -> Problem | None:
        """Count a wrong key that was shown from an address."""
        turn = self._impostors.take(self._site_of(scope))
        return None if turn.is_allowed else self._judged(turn, "address", scope)

    def _judged(self, turn: Turn, by: str, scope: Scope) -> Problem | None:
        scope["state"][ALLOWANCE] = (
            (b"ratelimit-limit", self._limit),
            (b"ratelimit-remaining", b"%d" % turn.left),
            (b"ratelimit-reset", b"%d" % turn.resets_in_s),
        )
        if turn.is_allowed:
            return None
        self._count(by)
        return asked_wrongly(TooManyRequests(turn.resets_in_s, self._quota.requests, self._quota.window_ms))

    def _site_of(self, scope: Scope) -> str:
        return site_of(client_address(scope, self._trusted))


@lru_cache(maxsize=1024)
def site_of(address: str) -> str:
    """Return what of an address one holder cannot change at will."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:  # as a socket for both kinds of addresses tells it
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), _SITE_BITS), strict=False))
