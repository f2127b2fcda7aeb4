"""A real process is killed by `kill -9` with work in its hands; another goes on with all of it."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ostler.clock import SystemClock
from ostler.engine.engine import Engine
from ostler.store.database import DirectoryInUse
from tests.support.databases import opened
from tests.support.engine import QUICK
from tests.support.engine_bodies import Notes
from tests.support.holding_process import HOLD

ROOT = Path(__file__).parents[2]
JOBS = 50


@asynccontextmanager
async def holding_process(url: str, term_s: float) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process that holds all jobs, and kill it at the end, if it is not dead by then."""
    program = (sys.executable, "-m", "tests.support.holding_process", url, str(term_s), str(JOBS))
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while await process.stdout.readline() != b"holding\n":
                assert process.returncode is None
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def finish_all(url: str, notes: Notes) -> float:
    """Start an engine on what was left, and return after how long the first of it went on."""
    clock = SystemClock()
    async with opened(url) as database:
        engine = Engine(database, clock, replace(QUICK, owner="heir"))
        began = clock.monotonic()
        first_after: float | None = None
        await engine.start({HOLD: notes})
        async with asyncio.timeout(60):
            while len(notes.seen) < JOBS:
                await clock.sleep(0.02)
                if first_after is None and notes.seen:
                    first_after = clock.monotonic() - began
        await engine.stop()
    assert first_after is not None
    return first_after


async def test_on_sqlite_a_restart_takes_the_work_back_within_three_seconds(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ostler.db"
    notes = Notes()
    async with holding_process(url, term_s=3600) as doomed:
        with pytest.raises(DirectoryInUse, match=str(doomed.pid)):
            async with opened(url):
                pass
        doomed.send_signal(signal.SIGKILL)
        await doomed.wait()
        assert await finish_all(url, notes) < 3
    assert sorted(notes.subjects) == sorted(f"subject-{number}" for number in range(JOBS))
    assert {context.epoch for context in notes.seen} == {2}


@pytest.mark.needs("postgres")
async def test_on_postgresql_another_replica_goes_on_once_the_leases_run_out(postgres_url: str) -> None:
    notes = Notes()
    async with holding_process(postgres_url, term_s=1.5) as doomed:
        doomed.send_signal(signal.SIGKILL)
        await doomed.wait()
        assert await finish_all(postgres_url, notes) < 10
    assert sorted(notes.subjects) == sorted(f"subject-{number}" for number in range(JOBS))


@pytest.mark.needs("postgres")
async def test_on_postgresql_a_stopped_process_loses_its_work_to_another(postgres_url: str) -> None:
    notes = Notes()
    async with holding_process(postgres_url, term_s=1.5) as paused:
        paused.send_signal(signal.SIGSTOP)
        await finish_all(postgres_url, notes)
        paused.send_signal(signal.SIGCONT)
    assert {context.epoch for context in notes.seen} == {2}
