"""Named caches: what was read from the cloud, kept for a while, counted, and cleared by name or key.

A value has a life; after it the value is read anew, by one flight for however many readers. While the cloud
is down, or slower than a reader's patience (which may be none), the old value is served and says that it is
stale. Other parts may register views of what they keep, so that one list shows everything that is cached.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from ostler.clock import Clock
from ostler.cloud.refusals import CloudRefusal, Malformed, RateLimited, Unavailable

T = TypeVar("T")

PATIENCE_S = 2.0  # a reader who can have an old value does not wait longer for a new one
HOLD_OFF_S = 5.0  # after a failed reading, the old value is served without trying again
_NO_ANSWERS = (Unavailable, RateLimited, Malformed)  # the page of a gateway is no answer either


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What can be seen of a cache."""

    name: str
    size: int
    max_size: int
    life_s: float
    hits: int
    misses: int
    sets: int
    evictions: int  # for want of room

    @property
    def hit_ratio(self) -> float:
        """Hits among all look-ups; 0 before the first."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else 0.0


class CacheView(Protocol):
    """Something that is cached, as the registry sees it."""

    @property
    def name(self) -> str:
        """Its name in the API."""
        ...

    def stats(self) -> CacheStats:
        """Return what can be seen of it now."""
        ...

    def clear(self) -> int:
        """Forget everything; return how many values that were."""
        ...

    def delete(self, key: str) -> bool:
        """Forget one value; tell whether it was there."""
        ...

    def cleanup(self) -> int:
        """Forget what has outlived its time; return how many values that were."""
        ...


class Caches:
    """All caches of the process by name."""

    def __init__(self) -> None:
        self._views: dict[str, CacheView] = {}

    def register(self, view: CacheView) -> None:
        """Add a cache; its name must be new."""
        assert view.name not in self._views, view.name
        self._views[view.name] = view

    def names(self) -> tuple[str, ...]:
        """Return the names of all caches."""
        return tuple(self._views)

    def find(self, name: str) -> CacheView | None:
        """Return a cache by its name."""
        return self._views.get(name)

    def stats(self) -> Mapping[str, CacheStats]:
        """Return what can be seen of all."""
        return {name: view.stats() for name, view in self._views.items()}

    def clear(self) -> int:
        """Forget everything in all caches."""
        return sum(view.clear() for view in self._views.values())

    def cleanup(self) -> int:
        """Forget what has outlived its time in all caches."""
        return sum(view.cleanup() for view in self._views.values())


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """A value with its date: when the reading of it began."""

    value: T
    observed_at: datetime
    is_stale: bool = False  # older than its life: a newer one is on its way, or could not be had
    was_cached: bool = False  # served without asking the cloud


@dataclass(frozen=True, slots=True)
class Wish:
    """How fresh a value is wanted: how long to wait for a newer one, how old it may be within its life."""

    patience_s: float = PATIENCE_S
    max_age_s: float = math.inf


READY = Wish()


@dataclass(slots=True)
class _Entry(Generic[T]):
    value: T
    observed_at: datetime
    expires_at: float
    retry_at: float = 0.0

    def as_kept(self, *, is_stale: bool) -> Kept[T]:
        return Kept(self.value, self.observed_at, is_stale=is_stale, was_cached=True)


# is told of each value that was loaded: its key, itself, when the reading of it began
Follower = Callable[[str, T, datetime], None]


def _is_always(_: object) -> bool:
    return True


class NamedCache(Generic[T]):
    """A cache with a life, a size, statistics, and one flight per key."""

    def __init__(self, name: str, life_s: float, max_size: int, clock: Clock) -> None:
        self._name = name
        self._life_s = life_s
        self._max_size = max_size
        self._clock = clock
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()  # least recently used first
        self._flights: dict[str, asyncio.Task[Kept[T]]] = {}
        self._follower: Follower[T] | None = None
        self._hits = self._misses = self._sets = self._evictions = 0

    @property
    def name(self) -> str:
        """Its name in the API."""
        return self._name

    async def get(
        self,
        key: str,
        load: Callable[[], Awaitable[T]],
        is_current: Callable[[T], bool] = _is_always,
        wish: Wish = READY,
    ) -> Kept[T]:
        """Return the value, loading it when there is none, it is not current, or has outlived its time.

        For this reader its time may be over earlier.
        """
        self._drop_outdated(key, is_current)
        kept = await self._found(key, load, wish)
        while not is_current(kept.value):  # it was being loaded before what the asker knows of
            self._drop_outdated(key, is_current)
            kept = await asyncio.shield(self._flight(key, load))
        return kept

    def follow(self, follower: Follower[T]) -> None:
        """Tell somebody of each value that is loaded from now on."""
        self._follower = follower

    def recall(self, key: str, value: T, observed_at: datetime) -> None:
        """Take a value from before, which has outlived its time and stands in until a newer one is had."""
        if key not in self._entries and len(self._entries) < self._max_size:
            self._entries[key] = _Entry(value, observed_at, self._clock.monotonic())

    def stats(self) -> CacheStats:
        """Return what can be seen of it now."""
        return CacheStats(
            name=self._name,
            size=len(self._entries),
            max_size=self._max_size,
            life_s=self._life_s,
            hits=self._hits,
            misses=self._misses,
            sets=self._sets,
            evictions=self._evictions,
        )

    def clear(self) -> int:
        """Forget everything, what is just being loaded too; return how many values that were."""
        count = len(self._entries)
        self._entries.clear()
        self._flights.clear()
        return count

    def delete(self, key: str) -> bool:
        """Forget one value; tell whether it was there."""
        self._flights.pop(key, None)
        return self._entries.pop(key, None) is not None

    def cleanup(self) -> int:
        """Forget what has outlived its time, and so can no longer stand in while the cloud is down."""
        now = self._clock.monotonic()
        expired = [key for key, entry in self._entries.items() if entry.expires_at <= now]
        for key in expired:
            del self._entries[key]
        return len(expired)

    async def _found(self, key: str, load: Callable[[], Awaitable[T]], wish: Wish) -> Kept[T]:
        entry = self._entries.get(key)
        now = self._clock.monotonic()
        spared_s = max(0.0, self._life_s - wish.max_age_s)
        if entry is not None and now < entry.expires_at - spared_s:
            self._hits += 1
            self._entries.move_to_end(key)
            return entry.as_kept(is_stale=False)
        self._misses += 1
        if entry is None:
            return await asyncio.shield(self._flight(key, load))
        self._entries.move_to_end(key)
        if now < entry.retry_at:
            return entry.as_kept(is_stale=True)
        return await self._fresh_or_stale(entry, self._flight(key, load), wish.patience_s)

    def _drop_outdated(self, key: str, is_current: Callable[[T], bool]) -> None:
        entry = self._entries.get(key)
        if entry is not None and not is_current(entry.value):
            del self._entries[key]

    async def _fresh_or_stale(
        self, entry: _Entry[T], flight: asyncio.Task[Kept[T]], patience_s: float
    ) -> Kept[T]:
        done = patience_s > 0 and (await asyncio.wait({flight}, timeout=patience_s))[0]
        if not done or isinstance(flight.exception(), _NO_ANSWERS):
            return entry.as_kept(is_stale=True)
        return flight.result()

    def _flight(self, key: str, load: Callable[[], Awaitable[T]]) -> asyncio.Task[Kept[T]]:
        """Return the task that loads this key; it outlives its waiters, and so fills the cache anyway."""
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.create_task(self._load(key, load), name=f"load {self._name} {key}")
            self._flights[key] = flight
            flight.add_done_callback(_note_its_end)
        return flight

    async def _load(self, key: str, load: Callable[[], Awaitable[T]]) -> Kept[T]:
        began_at = self._clock.now()
        me = asyncio.current_task()
        try:
            value = await load()
        except CloudRefusal as refusal:
            if self._flights.get(key) is me:
                self._note_refusal(key, refusal)
            raise
        else:
            if self._flights.get(key) is me:  # else it was cleared meanwhile: the answer may be out of date
                self._keep(key, _Entry(value, began_at, self._clock.monotonic() + self._life_s))
                if self._follower is not None:
                    self._follower(key, value, began_at)
        finally:
            if self._flights.get(key) is me:
                del self._flights[key]
        return Kept(value, began_at)

    def _note_refusal(self, key: str, refusal: CloudRefusal) -> None:
        """Let an old value stand in for no answer, and for no other: the next reader hears that one."""
        entry = self._entries.get(key)
        if isinstance(refusal, _NO_ANSWERS):
            if entry is not None:
                entry.retry_at = self._clock.monotonic() + HOLD_OFF_S
        else:
            self._entries.pop(key, None)

    def _keep(self, key: str, entry: _Entry[T]) -> None:
        self._sets += 1
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_size:
            self._entries.popitem(last=False)
            self._evictions += 1


def _note_its_end(flight: asyncio.Task[Kept[T]]) -> None:
    """Look at the error of a flight whose waiters have all left: they did not want to know it."""
    if not flight.cancelled():
        flight.exception()
