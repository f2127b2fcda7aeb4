"""The *brakes* of an instance: its time to live, what it may cost, and how long it may be idle. Pure.

A *horizon* is when a brake will act as things stand, and from when its owner is warned: max(5 min, a tenth)
before. Time to live counts from the first placement. Idle is what nobody marked as used since it became
usable, and whose GPUs were all but still ever since. Whoever calls reads the ledger and the clock.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from ostler.domain.conflicts import Verb
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.phases import StopReason
from ostler.domain.spec import OnLimit

NOTHING = Usd(0)
LEAST_NOTICE = timedelta(minutes=5)
_FAR_APART = timedelta(minutes=15)  # more than passes between starting and being usable
_TENTH = 10
_STILL_PERCENT = 5.0
_HOUR = timedelta(hours=1)
_LONGEST = timedelta(days=3650)  # further ahead than any instance lives
_LATEST = datetime.max.replace(tzinfo=UTC)
_RUNS = frozenset({State.STARTING, State.RUNNING, State.HEALTH_CHECKING, State.READY})
_IS_GOING = frozenset({State.TERMINATING, State.TERMINATED})


class Brake(StrEnum):
    """What may end a run, under the name of the field that asked for it."""

    TTL = "ttlSeconds"
    MAX_COST = "maxCost"
    IDLE = "idleStopMinutes"


STOP_REASON: Mapping[Brake, StopReason] = {
    Brake.TTL: StopReason.TTL,
    Brake.MAX_COST: StopReason.BUDGET,
    Brake.IDLE: StopReason.IDLE,
}


@dataclass(frozen=True, slots=True)
class Meter:
    """What is read off an instance at an instant."""

    at: datetime
    placed_at: datetime | None = None  # for the first time
    cost: Usd = NOTHING
    per_hour: Usd = NOTHING
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Horizon:
    """When a brake acts, and from when that is told. `limit` says which limit that is, for a warning once."""

    brake: Brake
    verb: Verb
    limit: str
    warns_at: datetime
    acts_at: datetime


class Stillness(StrEnum):
    """What GPU use says."""

    STILL = "still"
    BUSY = "busy"
    UNMEASURED = "unmeasured"  # nothing is concluded from it


def horizons(instance: Instance, meter: Meter) -> Sequence[Horizon]:
    """Return when each brake acts; none for what it would change nothing about."""
    return [each for each in _horizons(instance, meter) if _would_act(each.verb, instance)]


def idle_since(instance: Instance, last_used_at: datetime | None) -> datetime | None:
    """Return since when nobody used it, as far as is known; None: it is not usable."""
    ready_at = instance.ready_at if instance.is_usable else None
    if ready_at is None or last_used_at is None:
        return ready_at
    return max(ready_at, last_used_at)


def in_cloud_time(at: datetime, ready_at: datetime, started_at: datetime | None) -> datetime:
    """Return an instant by the cloud's clock, where that is far from ours: counted from the last start."""
    if started_at is None or abs(started_at - ready_at) < _FAR_APART:
        return at
    return started_at + (at - ready_at)


def stillness(percents: Sequence[float]) -> Stillness:
    """Say whether GPUs were still in every sample."""
    if not percents:
        return Stillness.UNMEASURED
    return Stillness.STILL if max(percents) < _STILL_PERCENT else Stillness.BUSY


def _horizons(instance: Instance, meter: Meter) -> Iterator[Horizon]:
    limits = instance.spec.limits
    verb = Verb.DELETE if limits.on_limit is OnLimit.DELETE else Verb.STOP
    if limits.ttl is not None and meter.placed_at is not None:
        yield _timed(Brake.TTL, verb, meter.placed_at, limits.ttl)
    if limits.max_cost is not None and meter.per_hour.units:
        yield _costed(verb, limits.max_cost, meter)
    since = idle_since(instance, meter.last_used_at)
    if limits.idle_stop is not None and since is not None:
        yield _timed(Brake.IDLE, Verb.STOP, since, limits.idle_stop)


def _timed(brake: Brake, verb: Verb, since: datetime, span: timedelta) -> Horizon:
    acts_at = since + min(span, _LATEST - since)  # somebody may have marked it as used in the year 9999
    notice = max(LEAST_NOTICE, span / _TENTH)
    return Horizon(brake, verb, acts_at.isoformat(timespec="seconds"), acts_at - notice, acts_at)


def _costed(verb: Verb, max_cost: Usd, meter: Meter) -> Horizon:
    left = _time_bought(max_cost.units - meter.cost.units, meter.per_hour)
    notice = max(LEAST_NOTICE, _time_bought(max_cost.units, meter.per_hour) / _TENTH)
    acts_at = meter.at + left
    return Horizon(Brake.MAX_COST, verb, f"{max_cost.amount:f} USD", acts_at - notice, acts_at)


def _time_bought(units: int, per_hour: Usd) -> timedelta:
    # divided first: an hour times a million dollars is more than a timedelta can hold
    return _HOUR * min(units / per_hour.units, _LONGEST / _HOUR)


def _would_act(verb: Verb, instance: Instance) -> bool:
    if verb is Verb.DELETE:
        return instance.state not in _IS_GOING
    fails_running = instance.state is State.FAILED and not instance.is_upstream_stopped
    return instance.state in _RUNS or (fails_running and instance.upstream_id is not None)
