"""The live feed: every event, as it happens, to everybody who follows; one reader of the log for all of them.

A follower first gets what the log has after the id it names, then what comes. Its queue is bounded: one that
is slow loses its place in the queue and goes on from the log at its own pace, and keeps nobody else waiting.
What the log has no more of is told as a `Reset`: the follower must read the state anew.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from ostler.clock import Clock
from ostler.domain.events import PublicEvent
from ostler.engine.bell import Bell
from ostler.engine.outlive import outlive
from ostler.notify.horizon import Horizon
from ostler.notify.subscriptions import matches
from ostler.store.database import Database
from ostler.store.events import TOPIC, EventFilter, EventRow, first_kept_id, read_events

_Key = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """What a follower wants: of an instance, of a project, of these names or beginnings (`instance.*`)."""

    instance_id: str | None = None
    project: str | None = None
    names: tuple[str, ...] = ()

    def wants(self, event: EventRow) -> bool:
        """Tell whether an event is meant."""
        return (
            self.instance_id in {None, event.instance_id}
            and self.project in {None, event.project}
            and (not self.names or any(matches(pattern, event.name) for pattern in self.names))
        )

    @property
    def key(self) -> _Key:
        """Under which the follower is found, so that an event looks at few followers."""
        if self.instance_id is not None:
            return ("instance", self.instance_id)
        return None if self.project is None else ("project", self.project)

    def in_log(self, after_id: int, up_to_id: int, limit: int) -> EventFilter:
        """Return the same wish as the log understands it."""
        names = [name for name in PublicEvent if any(matches(pattern, name) for pattern in self.names)]
        most = 0 if self.names and not names else limit  # to the log, no names would mean all
        return EventFilter(min(after_id, up_to_id), up_to_id, self.instance_id, self.project, names, most)


@dataclass(frozen=True, slots=True)
class Reset:
    """Events are missing before this id: they were thinned, or the database is not the one it was."""

    last_id: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody gets who waited for the next events; none came in time, or some are missing."""

    events: Sequence[EventRow]
    next_after: int  # where to go on
    is_reset: bool = False


@dataclass(frozen=True, slots=True)
class FeedConfig:
    """The figures of the feed."""

    queued: int = 256  # events that wait for one follower
    page: int = 500  # events in one read of the log
    poll: timedelta = timedelta(seconds=2)
    catch_up: timedelta = timedelta(milliseconds=20)  # while a transaction may still commit an older event


@dataclass(slots=True, eq=False)
class _Follower:
    wanted: FeedFilter
    queue: deque[EventRow] = field(default_factory=deque)
    rung: asyncio.Event = field(default_factory=asyncio.Event)
    reads_log: bool = False  # what comes live passes it by
    next_after: int = 0  # where in the log it goes on

    def hand(self, event: EventRow, most: int) -> None:
        if self.reads_log or not self.wanted.wants(event):
            return
        if len(self.queue) >= most:
            self.next_after = self.queue[0].id - 1
            self.queue.clear()
            self.reads_log = True
        else:
            self.queue.append(event)
        self.rung.set()

    def turn(self, first: EventRow, limit: int) -> Turn:
        """Return what is at hand, beginning with an event."""
        at_hand = [first]
        while self.queue and len(at_hand) < limit:
            at_hand.append(self.queue.popleft())
        return Turn(at_hand, at_hand[-1].id)


class Feed:
    """One per process: `run` reads the log once for everybody, `follow` is for each of them."""

    def __init__(self, database: Database, clock: Clock, config: FeedConfig | None = None) -> None:
        self._database = database
        self._config = config or FeedConfig()
        self._horizon = Horizon(database)
        self._bell = Bell(clock)
        self._followers: dict[_Key, set[_Follower]] = {}
        self._turning = asyncio.Lock()
        self._position: int | None = None  # handed out up to here
        self._given_id = 0
        self._is_closed = False

    async def run(self) -> None:
        """Hand out what the log gets, for ever; cancel to stop."""
        stop_listening = self._database.signals.listen(TOPIC, self._bell.ring)
        try:
            while True:
                pause = await outlive(self._turn, "reading the event log")
                await self._bell.wait((pause or self._config.poll).total_seconds())
        finally:
            stop_listening()

    def close(self) -> None:
        """End the following of everybody."""
        self._is_closed = True
        for followers in self._followers.values():
            for follower in followers:
                follower.rung.set()

    async def follow(
        self, after: int | None = None, wanted: FeedFilter | None = None
    ) -> AsyncIterator[EventRow | Reset]:
        """Yield what came after an event (0: from the log's beginning; None: from now on), and what comes."""
        follower = await self._join(after, wanted or FeedFilter())
        try:
            async for item in self._items(follower):
                yield item
        finally:
            self._leave(follower)

    async def next_page(self, after: int, limit: int, wanted: FeedFilter, wait_s: float) -> Turn:
        """Return the events after an id as soon as there are any; while none come, nothing is read."""
        at_hand = await self.page(after, limit, wanted)
        if at_hand.events or at_hand.is_reset:
            return at_hand
        follower = await self._join(after, wanted)
        try:
            async with asyncio.timeout(wait_s):
                first = await anext(self._items(follower), None)
            if isinstance(first, EventRow):
                return follower.turn(first, limit)
            if isinstance(first, Reset):
                return Turn((), first.last_id, is_reset=True)
        except TimeoutError:
            pass
        finally:
            self._leave(follower)
        return Turn((), max(after, self._position or 0))  # all up to here that is wanted was handed out

    async def page(self, after: int, limit: int, wanted: FeedFilter | None = None) -> Turn:
        """Return the events after an id, as far as the log is settled."""
        position = await self._known_position(after)
        is_lost = await self._is_lost(after)
        if after >= position:
            return Turn((), position if is_lost else after, is_lost)
        query = (wanted or FeedFilter()).in_log(after, position, limit)
        found = await self._database.read(partial(read_events, wanted=query))
        return Turn(found, found[-1].id if found else position if is_lost else after, is_lost)

    @property
    def follower_count(self) -> int:
        """How many follow now."""
        return sum(map(len, self._followers.values()))

    async def _items(self, follower: _Follower) -> AsyncIterator[EventRow | Reset]:
        while not self._is_closed:
            if follower.reads_log:
                async for item in self._from_log(follower):
                    yield item
            while follower.queue:
                event = follower.queue.popleft()
                if event.id > follower.next_after:
                    follower.next_after = event.id
                    yield event
            if not (follower.reads_log or self._is_closed):
                await follower.rung.wait()
                follower.rung.clear()

    async def _from_log(self, follower: _Follower) -> AsyncIterator[EventRow | Reset]:
        """Yield what the log has for a follower, until it has come to where the others are."""
        while follower.reads_log and not self._is_closed:
            if await self._is_lost(follower.next_after):
                follower.next_after = self._position or 0
                yield Reset(follower.next_after)
            position = self._position or 0
            query = follower.wanted.in_log(follower.next_after, position, self._config.page)
            found = await self._database.read(partial(read_events, wanted=query))
            for event in found:
                follower.next_after = event.id
                yield event
            if len(found) < self._config.page:
                follower.next_after = max(follower.next_after, position)
                follower.reads_log = position != self._position

    async def _is_lost(self, after: int) -> bool:
        """Tell whether events after an id are gone, or the id is not of this log."""
        if after in {0, self._position}:
            return False
        kept = await self._database.read(first_kept_id)
        return after > self._given_id or after < kept - 1 or kept == 0

    async def _known_position(self, after: int | None) -> int:
        """Return how far events were handed out; look again when somebody has seen more elsewhere."""
        if self._position is None or (after is not None and after > self._position):
            await self._turn()
        assert self._position is not None, "a turn ends with a position"
        return self._position

    async def _turn(self) -> timedelta:
        """Hand out what is settled and new; return when to look again, should no signal come."""
        async with self._turning:
            reach = await self._horizon.look()
            self._given_id = reach.given_id
            if self._position is None or not self._followers:
                self._position = reach.settled_id
            while self._position < reach.settled_id:
                await self._hand_out_page(self._position, reach.settled_id)
            return self._config.catch_up if reach.is_behind else self._config.poll

    async def _hand_out_page(self, after: int, up_to: int) -> None:
        query = EventFilter(after_id=after, up_to_id=up_to, limit=self._config.page)
        found = await self._database.read(partial(read_events, wanted=query))
        for event in found:
            for follower in self._followers_of(event):
                follower.hand(event, self._config.queued)
        # with no wait since the first was handed out: a follower that compares positions cannot fall between
        self._position = found[-1].id if len(found) == self._config.page else up_to

    def _followers_of(self, event: EventRow) -> Iterable[_Follower]:
        yield from self._followers.get(None, ())
        if event.instance_id is not None:
            yield from self._followers.get(("instance", event.instance_id), ())
        if event.project is not None:
            yield from self._followers.get(("project", event.project), ())

    async def _join(self, after: int | None, wanted: FeedFilter) -> _Follower:
        position = await self._known_position(after)
        follower = _Follower(wanted, next_after=position if after is None else after)
        follower.reads_log = follower.next_after != self._position
        self._followers.setdefault(wanted.key, set()).add(follower)
        return follower

    def _leave(self, follower: _Follower) -> None:
        key = follower.wanted.key
        followers = self._followers.get(key, set())
        followers.discard(follower)
        if not followers:
            self._followers.pop(key, None)
