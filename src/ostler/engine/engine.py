"""The way into the engine: ask for work inside a transaction, start and stop the work of this process.

Use cases call `ask` (whoever is free does it) or `accept` (this process does it at once, for a user who
waits) in the transaction that writes what is wanted. The assembly makes one Engine per process, gives it to
the use cases, and then starts it with the bodies, which may need the use cases in turn.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from functools import partial
from random import Random

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.engine.bell import Bell
from ostler.engine.clean_up import CLEAN_UP, CleanUp
from ostler.engine.config import EngineConfig
from ostler.engine.keeper import Keeper
from ostler.engine.kind import Body, Kind
from ostler.engine.leader import Leader, LeaderBody
from ostler.engine.outlive import outlive
from ostler.engine.pump import Pump
from ostler.engine.running import Running
from ostler.store.database import Database
from ostler.store.job_leases import hand_back
from ostler.store.job_views import cancel_job
from ostler.store.jobs import TOPIC, ClaimedJob, Lease, NewJob, ask, ask_and_take
from ostler.store.signals import on_commit

_FAREWELL_S = 1.5  # how long each end of a stop waits for the database


class Engine:
    """Everything about durable work in one process."""

    def __init__(self, database: Database, clock: Clock, config: EngineConfig) -> None:
        self._database = database
        self._clock = clock
        self._config = config
        self._pump_bell, self._keeper_bell = Bell(clock), Bell(clock)
        random = Random(config.seed)  # noqa: S311 -- spreads retries, keeps no secret
        self._running = Running(database, random, self._pump_bell.ring)
        self._pump = Pump(database, self._running, self._pump_bell, config)
        self._keeper = Keeper(database, self._running, self._keeper_bell, config)
        self._is_open = False
        self._unstarted: set[Lease] = set()  # accepted in a transaction that was committed after the stop
        self._loops: list[asyncio.Task[None]] = []
        self._leaders: list[asyncio.Task[None]] = []

    def ask(self, connection: Connection, job: NewJob) -> int:
        """Have a job done by whichever process is free; return its id. Asking twice is asking once."""
        return ask(connection, job)

    def accept(self, connection: Connection, job: NewJob) -> None:
        """Have a job done here right after the commit; a process that is full or stopping only asks."""
        has_room = self._running.accepted_count() < self._config.accepted_slots
        if not (self._is_open and has_room and job.kind in self._running.kinds):
            ask(connection, job)
            return
        taken = ask_and_take(connection, job, self._config.owner, self._config.term)
        if taken is not None:
            on_commit(connection, lambda: self._begin(taken))

    def _begin(self, job: ClaimedJob) -> None:
        if self._is_open:
            self._running.start(job, is_accepted=True)
        else:
            self._unstarted.add(job.lease)

    def cancel(self, connection: Connection, job_id: int) -> bool:
        """Close an open job for a person; its body is stopped here, and fenced wherever it runs."""
        on_commit(connection, self._keeper_bell.ring)
        return cancel_job(connection, job_id)

    @property
    def turned_at(self) -> float | None:
        """When work was last claimed and results written, by the event loop's time; None: not yet."""
        return self._pump.turned_at

    async def start(
        self, bodies: Mapping[Kind, Body], leading: Mapping[str, LeaderBody] | None = None
    ) -> None:
        """Take back what a dead process held, then begin to work; waits while the database is away."""
        self._running.learn({**bodies, CLEAN_UP: CleanUp(self._config.kept_for)})
        while not await outlive(self._keeper.take_over, "taking over"):
            await self._clock.sleep(self._config.shortest_poll.total_seconds())
        self._database.signals.listen(TOPIC, self._pump_bell.ring)
        self._loops = [asyncio.create_task(part.run()) for part in (self._pump, self._keeper)]
        self._leaders = [
            asyncio.create_task(Leader(name, self._database, self._clock, self._config).run(body))
            for name, body in (leading or {}).items()
        ]
        self._is_open = True

    async def stop(self) -> None:
        """Let bodies finish for a while, write their results, hand the rest back: within 10 seconds."""
        self._is_open = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await _end(self._leaders)
                await self._pump.stop_claiming()
        await self._running.drain(self._config.grace)
        left = self._unstarted | await self._running.abandon()
        with contextlib.suppress(TimeoutError):  # leases that cannot be handed back run out by themselves
            async with asyncio.timeout(_FAREWELL_S):
                await outlive(self._pump.turn, "writing the last results")
                await outlive(lambda: self._database.write(partial(hand_back, leases=left)), "handing back")
        await _end(self._loops)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
