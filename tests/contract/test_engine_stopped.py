"""A process is stopped after each of its writes and outside calls in turn; another ends the work well.

This is the scaffold that every job's own tests use: `StopPoint` counts the effects, the twin keeps the rows.
"""

import asyncio
import contextlib
from datetime import timedelta

import pytest
from sqlalchemy import Connection, text

from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.store.leases import acquire
from tests.support.engine import Ground, StopPoint, ground_of

WORK = Kind("work", max_attempts=1)


class Steps:
    """A body of one process: notes its intent in a row, calls outside, then waits once before it is done."""

    def __init__(self, stop_point: StopPoint) -> None:
        self._stop_point = stop_point
        self.is_first = True

    async def __call__(self, context: JobContext) -> Outcome:
        await context.write(lambda c: acquire(c, context.subject, "body", timedelta(days=1)))
        self._stop_point.check()
        self._stop_point.passed()  # an outside call
        if self.is_first:
            self.is_first = False
            return Wait(timedelta(seconds=1))
        return Done()


async def stopped_after(effects: int) -> tuple[list[tuple[str, int]], int, bool]:
    """Run a process that dies after so many effects, then its heir; return jobs, intents, if it lived."""
    async with ground_of("twin", "") as ground:
        point = StopPoint(effects)
        with contextlib.suppress(asyncio.CancelledError):
            doomed = await ground.process({WORK: Steps(point)}, stop_point=point)
            await doomed.accept(WORK.of("a"))
            await doomed.ask(WORK.of("b"))
            await ground.clock.sleep(3)
        has_survived = not point.is_dead
        ground.processes[0].kill()
        heir = await ground.process({WORK: Steps(StopPoint())})
        for subject in "ab":  # the caller was not answered, so they ask again
            if subject not in [job.subject for job in await ground.jobs()]:
                await heir.ask(WORK.of(subject))
        await ground.until(lambda: _are_closed(ground))
        intents = await heir.database.read(_intents)
        return [(job.status, job.attempts) for job in await ground.jobs()], intents, has_survived


async def _are_closed(ground: Ground) -> bool:
    return all(job.finished_at is not None for job in await ground.jobs())


def _intents(connection: Connection) -> int:
    count: int = connection.execute(text("SELECT count(*) FROM leases")).scalar_one()
    return count


@pytest.mark.looptime
@pytest.mark.parametrize("effects", range(1, 26))
async def test_work_ends_well_wherever_its_process_was_stopped(effects: int) -> None:
    jobs, intents, _ = await stopped_after(effects)
    assert jobs == [("done", 1), ("done", 1)]
    assert intents == 2


@pytest.mark.looptime
async def test_the_stops_above_reach_past_the_end_of_the_work() -> None:
    *_, has_survived = await stopped_after(26)
    assert has_survived
