"""Stopping what nobody uses: once the last mark of use is old enough, the cloud is asked what the GPUs did.

One rule for all who apply it: the watcher's brakes in every pass, and the checks that somebody asks for.
GPU use is fetched of nothing that was used lately. What is not measured is not stopped, and that is told.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import CloudRefusal
from ostler.cloud.upstream import GpuUse
from ostler.domain.brakes import (
    Brake,
    Horizon,
    Meter,
    Stillness,
    horizons,
    idle_since,
    in_cloud_time,
    stillness,
)
from ostler.domain.events import PublicEvent
from ostler.store.database import Database
from ostler.store.instances import InstanceRow
from ostler.usecases.braking import Braking, Notice, reached
from ostler.usecases.details import last_look
from ostler.usecases.record import Occasion

_MEASURED_LATE = timedelta(minutes=2)  # the cloud's newest figures are not there yet
_UNMEASURED_FOR = timedelta(minutes=5)
Write = Callable[[Callable[[Connection], None]], Awaitable[None]]  # a transaction, behind its caller's fence


@dataclass(frozen=True, slots=True)
class GpuLook:
    """What the GPUs did since the last mark of use. `busiest_percent` None: nothing was measured."""

    stillness: Stillness
    busiest_percent: float | None = None


@dataclass(frozen=True, slots=True)
class IdleStop:
    """Looks whether an instance is idle, and stops it if so."""

    database: Database
    cloud: Cloud
    braking: Braking
    clock: Clock

    async def look(self, row: InstanceRow, lane: Lane) -> GpuLook:
        """Ask the cloud about an instance whose idle time has come; its refusal says nothing."""
        try:
            use = await self._gpu_use(row, lane)
        except CloudRefusal:
            return GpuLook(Stillness.UNMEASURED)
        percents = [sample.percent for sample in use.compute]
        return GpuLook(stillness(percents), max(percents, default=None))

    async def stop(self, row: InstanceRow, horizon: Horizon, write: Write, asked: "Asked") -> None:
        """Stop an instance whose idle time has come if its GPUs were still, too; may raise VerbRefused."""
        instance_id, look = row.instance.id, await self.look(row, asked.lane)
        now = self.clock.now()
        occasion = Occasion(now, asked.actor)
        match look.stillness:
            case Stillness.STILL:
                notice = Notice(PublicEvent.IDLE, horizon, reached(horizon))
                await write(lambda connection: self.braking.tell(connection, instance_id, notice, occasion))
                await write(lambda connection: self.braking.act(connection, instance_id, horizon, occasion))
            case Stillness.UNMEASURED if now - horizon.acts_at >= _UNMEASURED_FOR:
                notice = Notice(PublicEvent.IDLE, horizon, _UNMEASURED)
                await write(lambda connection: self.braking.tell(connection, instance_id, notice, occasion))
            case Stillness.UNMEASURED | Stillness.BUSY:
                pass

    async def _gpu_use(self, row: InstanceRow, lane: Lane) -> GpuUse:
        """Ask what the GPUs did since the last mark of use, as far back as the limit counts."""
        instance, span, now = row.instance, row.instance.spec.limits.idle_stop, self.clock.now()
        since, ready_at = idle_since(instance, row.last_used_at), instance.ready_at
        assert since is not None, instance.id
        assert ready_at is not None, instance.id
        assert span is not None, instance.id
        assert instance.upstream_id is not None, instance.id
        look = await self.database.read(lambda connection: last_look(connection, instance.id))
        started_at = None if look is None or look.id != instance.upstream_id else look.started_at
        return await self.cloud.gpu_use(
            instance.upstream_id,
            in_cloud_time(max(since, now - span - _MEASURED_LATE), ready_at, started_at),
            in_cloud_time(now, ready_at, started_at),
            lane=lane,
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """In whose name an idle instance is stopped, and in which lane the cloud is asked about it."""

    actor: str
    lane: Lane


def idle_horizon(row: InstanceRow, now: datetime) -> Horizon | None:
    """Return when an instance will have been idle for as long as its owner allows; None: never."""
    meter = Meter(now, last_used_at=row.last_used_at)
    found = [each for each in horizons(row.instance, meter) if each.brake is Brake.IDLE]
    return found[0] if found else None


_UNMEASURED = "nobody uses it, but the cloud does not tell what its GPUs do: it is not stopped"
