"""A process that holds jobs until it is killed: `python -m tests.support.holding_process URL TERM COUNT`.

It accepts COUNT jobs under leases of TERM seconds, says "holding" once all of them run, and finishes none.
"""

import asyncio
import sys
from dataclasses import replace
from datetime import timedelta
from functools import partial

from sqlalchemy import Connection

from ostler.clock import SystemClock
from ostler.engine.engine import Engine
from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done, Outcome
from ostler.store.jobs import NewJob
from tests.support.databases import opened
from tests.support.engine import QUICK

HOLD = Kind("hold")


def _accept(engine: Engine, job: NewJob, connection: Connection) -> None:
    engine.accept(connection, job)


async def hold_until_killed(url: str, term_s: float, count: int) -> None:
    """Accept `count` jobs, say so on standard output once all of them run, and never finish them."""
    running = 0

    async def hold(_: JobContext) -> Outcome:
        nonlocal running
        running += 1
        if running == count:
            sys.stdout.write("holding\n")
            sys.stdout.flush()
        await asyncio.Event().wait()
        return Done()

    async with opened(url, busy_timeout_s=5) as database:
        engine = Engine(
            database, SystemClock(), replace(QUICK, owner="doomed", term=timedelta(seconds=term_s))
        )
        await engine.start({HOLD: hold})
        for number in range(count):
            job = HOLD.of(f"subject-{number}")
            await database.write(partial(_accept, engine, job))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(hold_until_killed(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
