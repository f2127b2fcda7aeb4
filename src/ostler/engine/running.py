"""The bodies that run in this process now, and the results that wait to be written.

A *run* is one body under one lease. It is kept until its result is in the database, so that its lease is
renewed until then. This is the worker's outermost loop: here, and only here, an unexpected error of a body
becomes a Retry.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import structlog

from ostler.engine.kind import Body, Kind, LeaseLost, context_of
from ostler.engine.outcome import Interrupted, Outcome, Retry, result_of
from ostler.store.database import Database, StoreUnavailable
from ostler.store.job_leases import Finish, PutOff
from ostler.store.jobs import ClaimedJob, Lease, Priority

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Run:
    """One body under one lease."""

    job: ClaimedJob
    is_accepted: bool  # it counts against the accepted slots, not against the poll's
    task: asyncio.Task[None] = field(init=False)
    is_lost: bool = False
    result: Finish | PutOff | None = None


class Running:
    """Starts bodies and keeps their results until the pump has written them."""

    def __init__(self, database: Database, random: Random, on_end: Callable[[], None]) -> None:
        self._database = database
        self._random = random
        self._on_end = on_end  # called whenever a body has ended
        self._bodies: dict[str, Body] = {}
        self.kinds: dict[str, Kind] = {}  # by name: those that this process can run
        self._runs: dict[Lease, Run] = {}

    def learn(self, bodies: Mapping[Kind, Body]) -> None:
        """Know from now on how to run these kinds."""
        self._bodies.update({kind.name: body for kind, body in bodies.items()})
        self.kinds.update({kind.name: kind for kind in bodies})

    def start(self, job: ClaimedJob, *, is_accepted: bool) -> None:
        """Run the body of a job whose lease this process holds."""
        run = Run(job, is_accepted)
        self._runs[job.lease] = run
        run.task = asyncio.create_task(self._run(run), name=f"job-{job.lease.job_id}")

    @property
    def leases(self) -> set[Lease]:
        """The leases to keep: of bodies that run, and of results not yet written."""
        return set(self._runs)

    def accepted_count(self) -> int:
        """Return how many accepted bodies run; asked from other threads, so a moment old."""
        return sum(run.is_accepted for run in list(self._runs.values()))

    def polled(self) -> list[Priority]:
        """Return the priorities of the polled bodies that still run."""
        return [run.job.priority for run in self._working() if not run.is_accepted]

    def results(self) -> list[Finish | PutOff]:
        """Return the results that wait to be written."""
        return [run.result for run in self._runs.values() if run.result is not None]

    def written(self, results: Collection[Finish | PutOff]) -> None:
        """Forget runs whose results are in the database."""
        for result in results:
            self._runs.pop(result.lease, None)

    def lose(self, leases: Collection[Lease]) -> None:
        """Stop bodies whose leases are another's by now; a result that is on its way is fenced anyway."""
        for run in self._working():
            if run.job.lease in leases:
                _log.warning("job lease lost", job_id=run.job.lease.job_id, kind=run.job.kind)
                self._drop(run)

    async def drain(self, grace: timedelta) -> None:
        """Wait for the bodies that run to end, but no longer than `grace`."""
        if tasks := [run.task for run in self._working()]:
            await asyncio.wait(tasks, timeout=grace.total_seconds())

    async def abandon(self) -> set[Lease]:
        """Stop every body that still runs; return the leases to hand back."""
        runs = self._working()
        for run in runs:
            self._drop(run)
        if runs:
            await asyncio.wait([run.task for run in runs], timeout=1)
        return {run.job.lease for run in runs}

    def _working(self) -> list[Run]:
        return [run for run in self._runs.values() if run.result is None]

    def _drop(self, run: Run) -> None:
        run.is_lost = True
        run.task.cancel()
        self._runs.pop(run.job.lease, None)

    async def _run(self, run: Run) -> None:
        kind, body = self.kinds[run.job.kind], self._bodies[run.job.kind]
        try:
            outcome = await self._outcome(run, kind, body)
            if outcome is None or run.is_lost:
                self._runs.pop(run.job.lease, None)
            else:
                run.result = result_of(run.job, outcome, every=kind.every, chance=self._random.random())
        finally:
            self._on_end()

    async def _outcome(self, run: Run, kind: Kind, body: Body) -> Outcome | Interrupted | None:
        """Run the body; None when its lease was lost, so that nothing may be written."""
        log = _log.bind(job_id=run.job.lease.job_id, kind=kind.name, subject=run.job.subject)
        limit = asyncio.timeout(kind.time_limit.total_seconds())
        try:
            async with limit:
                return await body(context_of(run.job, self._database))
        except LeaseLost:
            log.warning("job lease lost", epoch=run.job.lease.epoch)
            return None
        except StoreUnavailable as error:
            log.warning("job interrupted", reason=str(error))
            return Interrupted(str(error))
        except asyncio.CancelledError:
            if run.is_lost:
                raise
            return Retry("the body was cancelled from within")
        except Exception as error:  # the worker's outermost loop: any error is an attempt
            log.exception("job failed unexpectedly", attempt=run.job.attempts + 1)
            return Retry(_said(error, limit, kind))


def _said(error: Exception, limit: asyncio.Timeout, kind: Kind) -> str:
    return f"no end within {kind.time_limit}" if limit.expired() else f"{type(error).__name__}: {error}"
