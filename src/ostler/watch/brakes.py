"""Holding brakes: in every pass, what has reached its time to live, its cost or its idleness is stopped.

A row is read in full when it has changed or when one of its horizons has come; otherwise a pass costs it
nothing. Its owner is warned once per limit. Nothing depends on the cloud's answering, but for idleness,
which only the cloud can measure: without measurements nothing is stopped for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.domain.brakes import Brake, Horizon, Meter, horizons
from ostler.domain.conflicts import Verb
from ostler.domain.errors import VerbRefused
from ostler.domain.events import PublicEvent
from ostler.engine.leader import Term
from ostler.store.instances import InstanceRow, rows_called
from ostler.store.watch_rows import WatchRow
from ostler.usecases.braking import Braking, Notice
from ostler.usecases.idle_stop import Asked, IdleStop
from ostler.usecases.meters import meter_of
from ostler.usecases.record import Occasion
from ostler.watch.each import each
from ostler.watch.tower import Tower

ACTOR = "brakes"
_BATCH = 500
_AGAIN = timedelta(seconds=30)
_ASKED = Asked(ACTOR, Lane.WATCHER)
_NEVER = datetime.max.replace(tzinfo=UTC)
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Next:
    """When a row in this version is to be judged again."""

    version: int
    at: datetime


class Brakes:
    """Judges and acts; what it remembers is only when to judge again."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower
        self._braking = Braking(tower.recorder, tower.verbs)
        self._idle_stop = IdleStop(tower.database, tower.cloud, self._braking, tower.clock)
        self._next: dict[str, _Next] = {}

    async def judge(self, term: Term, rows: Sequence[WatchRow]) -> None:
        """Judge whatever of the living rows has changed or is due."""
        now = self._tower.clock.now()
        living = {row.id for row in rows}
        self._next = {key: value for key, value in self._next.items() if key in living}
        due = [row.id for row in rows if self._is_due(row, now)]
        for start in range(0, len(due), _BATCH):
            read = await self._tower.database.read(partial(_metered, due[start : start + _BATCH], now))
            found = await each(read, _judged, lambda item: item[0].instance.id)
            self._next.update({row.instance.id: _when(row, ahead, now) for row, ahead in found})
            reached = [(row, each) for row, ahead in found for each in ahead if each.warns_at <= now]
            await each(reached, lambda item: self._reach(term, *item), lambda item: item[0].instance.id)

    def _is_due(self, row: WatchRow, now: datetime) -> bool:
        known = self._next.get(row.id)
        return known is None or known.version != row.version or known.at <= now

    async def _reach(self, term: Term, row: InstanceRow, horizon: Horizon) -> None:
        """Act on a horizon that has come, or tell of one that is near."""
        now = self._tower.clock.now()
        if now < horizon.acts_at:
            await self._warn(term, row, horizon)
            return
        try:
            if horizon.brake is Brake.IDLE:
                await self._idle_stop.stop(row, horizon, term.write, _ASKED)
            else:
                await term.write(lambda connection: self._act(connection, row, horizon, now))
        except VerbRefused as refusal:
            _log.info("a brake waits", instance_id=row.instance.id, reason=str(refusal))

    def _act(self, connection: Connection, row: InstanceRow, horizon: Horizon, now: datetime) -> None:
        self._braking.act(connection, row.instance.id, horizon, Occasion(now, ACTOR))

    async def _warn(self, term: Term, row: InstanceRow, horizon: Horizon) -> None:
        notice = Notice(PublicEvent.LIMIT_WARNING, horizon, _warning(horizon))
        occasion = Occasion(self._tower.clock.now(), ACTOR)
        await term.write(lambda connection: self._braking.tell(connection, row.instance.id, notice, occasion))


def _metered(
    instance_ids: Sequence[str], now: datetime, connection: Connection
) -> list[tuple[InstanceRow, Meter | None]]:
    """Return rows with what their meters show; None where no limit wants to know."""
    return [
        (row, meter_of(connection, row, now) if _is_limited(row) else None)
        for row in rows_called(connection, instance_ids)
    ]


def _is_limited(row: InstanceRow) -> bool:
    limits = row.instance.spec.limits
    return not (limits.ttl is None and limits.max_cost is None and limits.idle_stop is None)


async def _judged(item: tuple[InstanceRow, Meter | None]) -> tuple[InstanceRow, Sequence[Horizon]]:
    row, meter = item
    return row, () if meter is None else horizons(row.instance, meter)


def _when(row: InstanceRow, ahead: Sequence[Horizon], now: datetime) -> _Next:
    return _Next(row.instance.version, min(_instants(ahead, now), default=_NEVER))


def _instants(ahead: Sequence[Horizon], now: datetime) -> Iterator[datetime]:
    for horizon in ahead:
        if now < horizon.warns_at:
            yield horizon.warns_at
        else:
            yield max(horizon.acts_at, now) if now < horizon.acts_at else now + _AGAIN


def _warning(horizon: Horizon) -> str:
    at = horizon.acts_at.isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{horizon.brake.value} is reached at {at}: it will be {_DONE[horizon.verb]}"


_DONE = {Verb.STOP: "stopped (its disk stays billed)", Verb.DELETE: "deleted"}
