"""Runs of real chaos: what happens to the servers of a site while clients go on asking.

Three courses: a server that is killed at seeded moments and started again; one of two replicas that is
killed for good; one of two that sleeps for longer than its leases, and wakes to find them lost. After each
comes a rest, and the comparison. `Site` says where; see `chaos_stage.py` for plan and report.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.chaos_rows import rows_of
from tests.support.chaos_site import Server, a_server, pretend_cloud
from tests.support.chaos_stage import SPEED, Course, Plan, Report, Stage

_AT_ONCE = 3
_EARLY = 0.2


@dataclass(frozen=True, slots=True)
class Ground:
    """What runs stand on: how many of them may be under load at once, so that they do not starve."""

    load: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))


async def run(plan: Plan, ground: Ground, folder: Path, database_url: str | None = None) -> Report:
    """Play a plan on SQLite in the folder, or on the PostgreSQL database at the address."""
    async with AsyncExitStack() as until_judged:
        async with ground.load:
            stage = await until_judged.enter_async_context(_staged(plan, folder, database_url))
            asking = asyncio.create_task(stage.load.run(plan.clients))
            await stage.until_accepted()
            await stage.spoil()
            await _COURSES[plan.course](stage)
            stage.load.is_over.set()
            await asking
            await stage.all_is_well()
        return await stage.verdict()


@asynccontextmanager
async def _staged(plan: Plan, folder: Path, database_url: str | None) -> AsyncIterator[Stage]:
    """Set a site up, with its servers running."""
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    settings = {} if database_url is None else {"OSTLER_DATABASE_URL": database_url}
    names = ["first"] if plan.course is Course.KILLS else ["first", "second"]
    async with pretend_cloud(folder, SPEED) as cloud:
        servers = tuple(a_server(folder / name, cloud, **settings) for name in names)
        with rows_of(database_url or f"sqlite:///{folder}/first/ostler.db") as rows:
            try:
                for server in servers:
                    server.start()
                yield Stage(plan, cloud, servers, rows)
            finally:
                await asyncio.gather(*(server.kill() for server in servers if server.pid is not None))


async def _kills(stage: Stage) -> None:
    """Kill the server at seeded moments of its lives, now and then before it is quite alive."""
    server = stage.servers[0]
    for number in range(stage.plan.kills):
        if stage.plan.has_outage and number == stage.plan.kills // 2:
            await stage.outage()
        if stage.dice.random() < _EARLY:
            await stage.sleep(0, 1)
        else:
            await server.until_it_answers()
            await stage.sleep(0, 2)
        held = await stage.held_by(await server.kill())
        stage.kills += 1
        await stage.sleep(0, stage.dice.choice((0, 0, 1)))
        server.start()
        if held:
            stage.kills_at_work += 1
            stage.watching.append(asyncio.create_task(stage.recovered(held)))


async def _loss(stage: Stage) -> None:
    """Kill one replica at work, for good; the other goes on with all of it."""
    server = stage.servers[0]
    held = await _caught_at_work(stage, server)
    await server.kill()
    stage.kills += 1
    stage.kills_at_work += 1
    await stage.recovered(held)
    await stage.sleep(1, 3)


async def _pause(stage: Stage) -> None:
    """Let one replica sleep at work until the other has taken that over, and wake it under load."""
    server = stage.servers[0]
    held = await _caught_at_work(stage, server)
    await stage.recovered(held)
    await stage.sleep(0, 1)
    server.wake()
    await stage.sleep(2, 4)


async def _caught_at_work(stage: Stage, server: Server) -> Mapping[int, int]:
    """Let a server sleep at a seeded moment at which it holds jobs; return them."""
    while True:
        await stage.sleep(0.3, 2.5)
        held = await stage.held_by(server.pause())
        if held:
            return held
        server.wake()


_COURSES: Mapping[Course, Callable[[Stage], Awaitable[None]]] = {
    Course.KILLS: _kills,
    Course.LOSS: _loss,
    Course.PAUSE: _pause,
}
