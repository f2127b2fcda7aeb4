"""The pump: writes results and claims work, both in one transaction a turn.

Under load each turn carries many results and many claims, so the disk is flushed once for all of them. When
the database is away the pump pauses and keeps the results; nothing fails.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from sqlalchemy import Connection

from ostler.engine.bell import Bell
from ostler.engine.config import EngineConfig
from ostler.engine.outlive import outlive
from ostler.engine.running import Running
from ostler.store.database import Database
from ostler.store.job_leases import Claim, Finish, PutOff, claim, finish, next_due_in, put_off
from ostler.store.jobs import ClaimedJob, Priority

_SOONEST = timedelta(milliseconds=1)
Results = list[Finish | PutOff]
Exchange = tuple[list[ClaimedJob], timedelta | None]  # what was claimed, and how long until the next is due


@dataclass(frozen=True, slots=True)
class Room:
    """How many more jobs of any priority, and beyond them how many HIGH ones, may run."""

    shared: int
    kept: int


NO_ROOM = Room(0, 0)


class Pump:
    """Moves jobs from the database into this process, and results back."""

    def __init__(self, database: Database, running: Running, bell: Bell, config: EngineConfig) -> None:
        self._database = database
        self._running = running
        self._config = config
        self._random = Random(config.seed)  # noqa: S311 -- spreads polls, keeps no secret
        self._is_claiming = True
        self._turning = asyncio.Lock()
        self._bell = bell
        self.turned_at: float | None = None  # when the last turn ended well, by the event loop's time

    async def run(self) -> None:
        """Turn for ever."""
        while True:
            pause = await outlive(self.turn, "claiming and writing results")
            await self._bell.wait((pause or self._poll()).total_seconds())

    async def stop_claiming(self) -> None:
        """From now on only write results; returns when no claim is on its way any more."""
        self._is_claiming = False
        async with self._turning:
            pass

    async def turn(self) -> timedelta:
        """Write all results, claim what there is room for; return how long there is nothing to do."""
        async with self._turning:
            results = self._running.results()
            room = free_slots(self._running.polled(), self._config) if self._is_claiming else NO_ROOM
            if not results and room == NO_ROOM:
                self.turned_at = asyncio.get_running_loop().time()
                return self._poll()
            claimed, next_in = await self._database.write(lambda c: self._exchange(c, results, room))
            self._running.written(results)
            for job in claimed:
                self._running.start(job, is_accepted=False)
        self.turned_at = asyncio.get_running_loop().time()
        return max(_SOONEST, min(self._poll(), next_in or self._config.longest_poll))

    def _poll(self) -> timedelta:
        shortest, longest = self._config.shortest_poll, self._config.longest_poll
        return shortest + (longest - shortest) * self._random.random()

    def _exchange(self, connection: Connection, results: Results, room: Room) -> Exchange:
        finish(connection, [result for result in results if isinstance(result, Finish)])
        put_off(connection, [result for result in results if isinstance(result, PutOff)])
        if room == NO_ROOM:
            return [], None
        return self._claim(connection, room), next_due_in(connection, self._running.kinds)

    def _claim(self, connection: Connection, room: Room) -> list[ClaimedJob]:
        """Claim for the shared slots; when they fill, HIGH work alone for those kept for it."""
        claimed = claim(connection, self._wish(room.shared, tuple(Priority)))
        if len(claimed) == room.shared:
            claimed += claim(connection, self._wish(room.kept, (Priority.HIGH,)))
        return claimed

    def _wish(self, limit: int, priorities: tuple[Priority, ...]) -> Claim:
        return Claim(self._config.owner, self._config.term, self._running.kinds, limit, priorities)


def free_slots(polled: Collection[Priority], config: EngineConfig) -> Room:
    """Return the room that is left beside the bodies of these priorities."""
    free = max(0, config.slots - len(polled))
    others = sum(priority != Priority.HIGH for priority in polled)
    shared = max(0, min(free, config.slots_for_all - others))
    return Room(shared, free - shared)
