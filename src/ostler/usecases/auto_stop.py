"""The idle stop as people see it: what is looked after, what would be stopped now, and a check at once.

The watcher applies the same rule in every pass; a check only brings it forward. It is one job for each
instance whose last mark of use is old enough, so that a large fleet keeps no request waiting. Only what has
a row and an `idleStopMinutes` is ever looked at.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.domain.brakes import Horizon, Stillness
from ostler.domain.instance import USABLE_STATES
from ostler.domain.phases import StopReason
from ostler.engine.engine import Engine
from ostler.engine.kind import Kind
from ostler.store.database import Database
from ostler.store.idle_rows import count_stopped_for, rows_with_idle_stop
from ostler.store.instances import InstanceRow
from ostler.telemetry.trail import Trail
from ostler.usecases.asking import Asker
from ostler.usecases.idle_stop import IdleStop, idle_horizon

AUTO_STOP_CHECK = Kind("auto_stop_check", max_attempts=3)
PATIENCE_S = 10.0  # for the cloud's figures, of all that is asked about at once
_AT_ONCE = 8


class Verdict(StrEnum):
    """What a check finds of one instance."""

    IN_USE = "in_use"  # its last mark of use is not old enough
    BUSY = "busy"  # nobody marked it, but its GPUs work
    UNMEASURED = "unmeasured"  # the cloud does not tell what its GPUs do, so it is not stopped
    IDLE = "idle"  # it is stopped
    DUE = "due"  # its GPUs are still to be looked at


@dataclass(frozen=True, slots=True)
class Finding:
    """One instance that may be stopped for idleness; `job_id`: what looks at it."""

    row: InstanceRow
    horizon: Horizon
    verdict: Verdict
    busiest_percent: float | None = None
    job_id: int | None = None


@dataclass(frozen=True, slots=True)
class AutoStopStats:
    """How many are looked after, how many of them nobody uses, and how many are stopped for it."""

    watched: int
    eligible: int
    stopped: int


class AutoStop:
    """Shows and checks what may be stopped for idleness."""

    def __init__(self, idle_stop: IdleStop, database: Database, engine: Engine, trail: Trail) -> None:
        self._idle_stop = idle_stop
        self._database = database
        self._engine = engine
        self._trail = trail
        self._clock = idle_stop.clock

    async def stats(self, asker: Asker) -> AutoStopStats:
        """Count what the asker may see."""
        now = self._clock.now()

        def work(connection: Connection) -> AutoStopStats:
            found = _watched(connection, asker, now)
            eligible = sum(each.verdict is Verdict.DUE for each in found)
            stopped = count_stopped_for(connection, StopReason.IDLE, asker.project)
            return AutoStopStats(len(found), eligible, stopped)

        return await self._database.read(work)

    async def preview(self, asker: Asker) -> Sequence[Finding]:
        """Tell what a check would do now, and do nothing."""
        now = self._clock.now()
        found = await self._database.read(lambda connection: _watched(connection, asker, now))
        slots = asyncio.Semaphore(_AT_ONCE)
        looks = [asyncio.ensure_future(self._judged(each, slots)) for each in found]
        if looks:
            await asyncio.wait(looks, timeout=PATIENCE_S)
        for look in looks:
            look.cancel()
        done = await asyncio.gather(*looks, return_exceptions=True)
        return [_or_unmeasured(each, judged) for each, judged in zip(found, done, strict=True)]

    async def check(self, asker: Asker) -> Sequence[Finding]:
        """Have everything looked at that nobody has marked as used for long enough."""
        now, origin = self._clock.now(), self._trail.origin()

        def ask(connection: Connection, finding: Finding) -> Finding:
            if finding.verdict is not Verdict.DUE:
                return finding
            job = AUTO_STOP_CHECK.of(finding.row.instance.id, payload=origin)
            return replace(finding, job_id=self._engine.ask(connection, job))

        return await self._database.write(
            lambda connection: [ask(connection, each) for each in _watched(connection, asker, now)]
        )

    async def _judged(self, finding: Finding, slots: asyncio.Semaphore) -> Finding:
        if finding.verdict is not Verdict.DUE:
            return finding
        async with slots:
            look = await self._idle_stop.look(finding.row, Lane.USER)
        return replace(finding, verdict=_VERDICTS[look.stillness], busiest_percent=look.busiest_percent)


_VERDICTS = {
    Stillness.STILL: Verdict.IDLE,
    Stillness.BUSY: Verdict.BUSY,
    Stillness.UNMEASURED: Verdict.UNMEASURED,
}


def _or_unmeasured(finding: Finding, judged: Finding | BaseException) -> Finding:
    if isinstance(judged, Finding):
        return judged
    if isinstance(judged, asyncio.CancelledError):
        return replace(finding, verdict=Verdict.UNMEASURED)
    raise judged


def _watched(connection: Connection, asker: Asker, now: datetime) -> list[Finding]:
    found = []
    for row in rows_with_idle_stop(connection, USABLE_STATES, asker.project):
        horizon = idle_horizon(row, now)
        if horizon is not None:
            verdict = Verdict.DUE if horizon.acts_at <= now else Verdict.IN_USE
            found.append(Finding(row, horizon, verdict))
    return found
