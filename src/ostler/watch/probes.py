"""Probing what is ready, again and again, so that `ready` stays true: three failures in a row take it away.

A sweep goes over the fleet slice by slice in the order of the ids, spread over its round, and remembers
only where it is. Due is what was checked its interval ago. Led by the process that watches; the first
checks of a start, and those after readiness was lost, are the job's (`check_health`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Protocol

from pydantic import TypeAdapter
from sqlalchemy import Connection

from ostler.cloud.upstream import Endpoint
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change
from ostler.domain.lifecycle import State
from ostler.domain.outcomes import health_judged
from ostler.domain.readiness import EndpointHealth, Overall, next_probe_at, overall
from ostler.domain.work import WorkKind
from ostler.engine.leader import Term
from ostler.store.health_reports import HealthReport, find_report, put_report
from ostler.store.ready_rows import ReadyRow, count_ready_rows, ready_rows
from ostler.usecases.details import last_look
from ostler.usecases.health_told import health_told
from ostler.usecases.record import Edit, Occasion
from ostler.watch.each import each
from ostler.watch.tower import Tower

ROUND = timedelta(seconds=15)  # in which each ready row is considered once
_STEP_S = 1.0
_AT_ONCE = 32
_LARGEST_SLICE = 2_000
_POLICY: TypeAdapter[HealthPolicy] = TypeAdapter(HealthPolicy)


class Prober(Protocol):
    """Asks endpoints whether they answer."""

    async def probe(self, endpoints: Sequence[Endpoint], policy: HealthPolicy) -> tuple[EndpointHealth, ...]:
        """Ask all endpoints at once; return what each one is. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that is due, with what is asked of it; without endpoints it has to be looked at first."""

    row: ReadyRow
    policy: HealthPolicy
    endpoints: tuple[Endpoint, ...] | None


@dataclass(frozen=True, slots=True)
class Probed:
    """A row that was asked."""

    row: ReadyRow
    health: tuple[EndpointHealth, ...]


class Probes:
    """A part of the body of the lead `watcher`."""

    def __init__(self, tower: Tower, prober: Prober) -> None:
        self._tower = tower
        self._prober = prober

    async def __call__(self, term: Term) -> None:
        """Probe for as long as the lead lasts."""
        clock, cursor, left, size = self._tower.clock, "", 0, 0
        while True:
            began = clock.monotonic()
            if left <= 0:  # a new round
                left = await self._tower.database.read(count_ready_rows)
                size = min(
                    _LARGEST_SLICE, -(-left * int(_STEP_S * 1000) // int(ROUND.total_seconds() * 1000))
                )
                cursor = ""
            if size:
                cursor = await self.sweep(term, cursor, size)
                left = left - size if cursor else 0
            await clock.sleep(max(_STEP_S - (clock.monotonic() - began), 0.0) or _STEP_S)

    async def sweep(self, term: Term, cursor: str, size: int) -> str:
        """Probe what is due among the next rows; return the id of the last, "" at the end of the fleet."""
        now = self._tower.clock.now()
        rows, due = await self._tower.database.read(lambda connection: _slice(connection, cursor, size, now))
        await self._probe(term, due)
        return rows[-1].id if len(rows) == size else ""

    async def _probe(self, term: Term, due: Sequence[Candidate]) -> None:
        async def one(candidate: Candidate) -> Probed | None:
            if candidate.endpoints is None:
                await term.write(lambda connection: self._ask_for_look(connection, candidate.row.id))
                return None
            return Probed(candidate.row, await self._prober.probe(candidate.endpoints, candidate.policy))

        probed = await each(due, one, lambda candidate: candidate.row.id, at_once=_AT_ONCE)
        results = [result for result in probed if result is not None and result.health]
        if results:
            occasion = self._tower.occasion()
            await term.write(lambda connection: self._keep(connection, results, occasion))

    def _keep(self, connection: Connection, results: Sequence[Probed], occasion: Occasion) -> None:
        for result in results:
            self._judge(connection, result, occasion)

    def _judge(self, connection: Connection, result: Probed, occasion: Occasion) -> None:
        found = overall(result.health)
        before = self._tower.recorder.lock(connection, result.row.id)
        instance = before.instance
        if instance.state is not State.READY or instance.upstream_id != result.row.upstream_id:
            return  # whatever it is now, this was asked of something else
        report = find_report(connection, instance.id)
        in_a_row = 0 if report is None else report.failed_rounds
        failed = 0 if found is Overall.HEALTHY else in_a_row + 1
        put_report(connection, HealthReport(instance.id, found, result.health, failed, occasion.at))
        change = health_judged(instance, result.health, occasion.at)
        edit = Edit(change, details=health_told(result.health, occasion.at))
        self._tower.recorder.write(connection, before, edit, occasion)

    def _ask_for_look(self, connection: Connection, instance_id: str) -> None:
        before = self._tower.recorder.lock(connection, instance_id)
        edit = Edit(Change(before.instance).asking(WorkKind.REFRESH))
        self._tower.recorder.write(connection, before, edit, self._tower.occasion())


def is_due(row: ReadyRow, policy: HealthPolicy, now: datetime) -> bool:
    """Tell whether a row's interval is over, to the nearest round; never, where it is none."""
    if not policy.interval:
        return False
    if row.checked_at is None:
        return True
    next_at = next_probe_at(policy, row.checked_at)
    return next_at is not None and next_at - now < ROUND / 2


def _slice(
    connection: Connection, cursor: str, size: int, now: datetime
) -> tuple[Sequence[ReadyRow], Sequence[Candidate]]:
    rows = ready_rows(connection, cursor, size)
    due = [(row, policy) for row in rows if is_due(row, policy := _policy(row.policy), now)]
    return rows, [Candidate(row, policy, _endpoints(connection, row, policy)) for row, policy in due]


def _endpoints(connection: Connection, row: ReadyRow, policy: HealthPolicy) -> tuple[Endpoint, ...] | None:
    look = last_look(connection, row.id)
    if look is None or look.id != row.upstream_id or not all(each.address for each in look.endpoints):
        return None
    return tuple(each for each in look.endpoints if policy.target_port in {None, each.port})


@lru_cache(maxsize=256)
def _policy(text: str) -> HealthPolicy:
    return _POLICY.validate_json(text)
