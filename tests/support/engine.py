"""Engines for tests: processes that can be paused, killed or cut off, on the twin and on real databases.

A *ground* is a database that several pretended processes share: the twin (in memory, in virtual time, with
the design's own figures), SQLite and PostgreSQL (real, with short leases). The fixture `ground` gives each in
turn; `ground.process(bodies)` starts an engine on it. `StopPoint` stops a process after its n-th effect.
Bodies are in `engine_bodies.py`. This module is a pytest plugin; tests/conftest.py loads it.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeVar

import pytest
import structlog
from sqlalchemy import Connection

from ostler.clock import Clock, SystemClock
from ostler.engine.config import EngineConfig
from ostler.engine.engine import Engine
from ostler.engine.kind import Body, Kind
from ostler.engine.leader import LeaderBody
from ostler.store.database import Database
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.store.job_views import JobFilter, JobView, list_jobs
from ostler.store.jobs import NewJob
from ostler.store.signals import Signals
from tests.support.cloud import LoopClock
from tests.support.databases import Shears, opened

T = TypeVar("T")
PATIENCE_S = 40.0
QUICK = EngineConfig(
    owner="test",
    term=timedelta(seconds=1.5),
    leader_term=timedelta(seconds=4.5),  # so that no stall of a busy machine makes a lead pass on
    shortest_poll=timedelta(seconds=0.05),
    longest_poll=timedelta(seconds=0.1),
    grace=timedelta(seconds=0.5),
)
DESIGNED = EngineConfig(owner="test")


class StopPoint:
    """Counts effects (writes, outside calls) and stops its process after the n-th; None: never."""

    def __init__(self, after: int | None = None) -> None:
        self.after = after
        self.count = 0

    @property
    def is_dead(self) -> bool:
        return self.after is not None and self.count >= self.after

    def check(self) -> None:
        """Raise when the process is dead: nothing of it goes on, and no `except Exception` sees why."""
        if self.is_dead:
            raise asyncio.CancelledError

    def passed(self) -> None:
        """Note an effect; the one that the process dies after takes place, and nobody hears of it."""
        self.count += 1
        self.check()


class ProcessDatabase:
    """One pretended process's way to a database: it can be paused, and it stops at a stop point."""

    is_exclusive = False
    stamps = None

    def __init__(self, inner: Database, stop_point: StopPoint | None = None) -> None:
        self.inner = inner
        self.stop_point = stop_point or StopPoint()
        self.write_count = 0
        self.is_awake = asyncio.Event()
        self.is_awake.set()

    @property
    def signals(self) -> Signals:
        return self.inner.signals

    async def write(self, work: Callable[[Connection], T]) -> T:
        await self.is_awake.wait()
        self.stop_point.check()
        self.write_count += 1
        result = await self.inner.write(work)
        self.stop_point.passed()
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        await self.is_awake.wait()
        self.stop_point.check()
        return await self.inner.read(work)

    async def close(self) -> None:
        await self.inner.close()


@dataclass(frozen=True)
class Process:
    """A pretended process: an engine with its own way to the database."""

    engine: Engine
    database: ProcessDatabase

    def pause(self) -> None:
        """Let nothing of it reach the database, as if it had been stopped by a signal."""
        self.database.is_awake.clear()

    def wake(self) -> None:
        self.database.is_awake.set()

    def kill(self) -> None:
        """Let nothing of it ever happen again."""
        self.database.stop_point.after = 0
        self.database.is_awake.set()
        runs = self.engine._running._runs.values()
        for task in (*self.engine._loops, *self.engine._leaders, *(run.task for run in runs)):
            task.cancel()

    async def ask(self, job: NewJob) -> int:
        return await self.database.write(lambda connection: self.engine.ask(connection, job))

    async def accept(self, job: NewJob) -> None:
        await self.database.write(lambda connection: self.engine.accept(connection, job))


class Away(Protocol):
    """How a ground's database is taken away and given back."""

    def __call__(self) -> AbstractAsyncContextManager[None]: ...


@dataclass
class Ground:
    """A database that pretended processes share."""

    name: str
    clock: Clock
    figures: EngineConfig
    connect: Callable[[], Database]  # a new process's database
    away: Away
    processes: list[Process] = field(default_factory=list)
    logs: Sequence[Mapping[str, object]] = ()  # what the engines have logged

    async def process(
        self,
        bodies: Mapping[Kind, Body],
        leading: Mapping[str, LeaderBody] | None = None,
        figures: EngineConfig | None = None,
        stop_point: StopPoint | None = None,
    ) -> Process:
        """Start a process with an engine."""
        config = replace(figures or self.figures, owner=f"process-{len(self.processes) + 1}", seed=1)
        database = ProcessDatabase(self.connect(), stop_point)
        process = Process(Engine(database, self.clock, config), database)
        self.processes.append(process)
        await process.engine.start(bodies, leading)
        return process

    @property
    def term_s(self) -> float:
        return self.figures.term.total_seconds()

    async def jobs(self, wanted: JobFilter | None = None) -> list[JobView]:
        """Return the jobs in the database, the engine's own left out, newest first."""
        found = await self.connect().read(lambda connection: list_jobs(connection, wanted or JobFilter()))
        return [job for job in found if not job.kind.startswith("engine.")]

    async def until(self, is_so: Callable[[], bool | Awaitable[bool]]) -> None:
        """Wait until something is so; fail when it does not become so in a long time."""
        patience = self.clock.monotonic() + PATIENCE_S
        while True:
            answer = is_so()
            if await answer if isinstance(answer, Awaitable) else answer:
                return
            assert self.clock.monotonic() < patience, "it never became so"
            await self.clock.sleep(0.05 if self.name == "twin" else 0.01)

    async def until_all(self, status: str, count: int = 1) -> None:
        """Wait until there are `count` jobs and all are in a status."""

        async def is_so() -> bool:
            return [job.status for job in await self.jobs(JobFilter(limit=count + 10))] == [status] * count

        await self.until(is_so)

    async def close(self) -> None:
        for process in self.processes:
            process.wake()
            if not process.database.stop_point.is_dead:
                await process.engine.stop()


@asynccontextmanager
async def ground_of(kind: str, url: str) -> AsyncIterator[Ground]:
    """Give a ground on the twin, or on the real database at `url`."""
    makers = {"twin": _twin, "sqlite": _sqlite, "postgres": _postgres}
    with structlog.testing.capture_logs() as logs:
        async with makers[kind](url) as ground:
            ground.logs = logs
            try:
                yield ground
            finally:
                await ground.close()


@asynccontextmanager
async def _twin(_: str) -> AsyncIterator[Ground]:
    clock = LoopClock()
    storage = InlineStorage(clock)

    @asynccontextmanager
    async def away() -> AsyncIterator[None]:
        storage.is_away = True
        yield
        storage.is_away = False

    with contextlib.closing(storage):
        yield Ground("twin", clock, DESIGNED, lambda: InlineDatabase(storage), away)


@asynccontextmanager
async def _sqlite(url: str) -> AsyncIterator[Ground]:
    @asynccontextmanager
    async def away() -> AsyncIterator[None]:
        foreign = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        yield
        foreign.execute("ROLLBACK")
        foreign.close()

    async with opened(url) as database:
        yield Ground("sqlite", SystemClock(), QUICK, lambda: database, away)


@asynccontextmanager
async def _postgres(url: str) -> AsyncIterator[Ground]:
    shears = Shears(url)
    await shears.mend()

    @asynccontextmanager
    async def away() -> AsyncIterator[None]:
        await shears.cut()
        yield
        await shears.mend()

    async with opened(shears.url) as one, opened(shears.url) as other:
        turn = iter([one, other])
        yield Ground("postgres", SystemClock(), QUICK, lambda: next(turn, one), away)
    await shears.cut()


@pytest.fixture(
    params=[
        pytest.param("twin", marks=pytest.mark.looptime),
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.needs("postgres")),
    ]
)
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    """Give each kind of ground in turn."""
    kind: str = request.param
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else f"sqlite:///{tmp_path}/ostler.db"
    async with ground_of(kind, url) as ground:
        yield ground
