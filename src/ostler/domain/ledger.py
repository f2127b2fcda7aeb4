"""The ledger's *intervals*: for how long an instance was billed for what, and how well we know it.

Intervals are appended when a state or a sight changes and corrected by later rows, never rewritten. This
says which interval a state opens; writing and correcting them belongs to the store and the watcher.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState

_TICK = timedelta(microseconds=1)
_TICKS_PER_HOUR = timedelta(hours=1) // _TICK


class IntervalState(StrEnum):
    """What is billed."""

    FREE = "free"  # an upstream that is not billed yet
    COMPUTE = "compute"  # GPUs and disks
    STORAGE = "storage"  # disks alone
    PREPAID = "prepaid"  # a whole term, at the instant when it was paid


class IntervalSource(StrEnum):
    """Who says when an interval began and ended."""

    CLOUD = "cloud"  # its own instants
    OBSERVED = "observed"  # the bounds of what was seen


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time at one price. `uncertainty`: by how much its bounds may be wrong together."""

    instance_id: str
    state: IntervalState
    price_per_hour: Usd
    from_at: datetime
    to_at: datetime | None = None  # None: it goes on
    source: IntervalSource = IntervalSource.OBSERVED
    uncertainty: timedelta = timedelta()
    amount: Usd | None = None  # paid at once, in place of the price for the time


_BY_STATE: Mapping[State, IntervalState] = {
    State.STARTING: IntervalState.COMPUTE,
    State.RUNNING: IntervalState.COMPUTE,
    State.HEALTH_CHECKING: IntervalState.COMPUTE,
    State.READY: IntervalState.COMPUTE,
    State.STOPPING: IntervalState.COMPUTE,
    State.EXITED: IntervalState.STORAGE,
    State.MIGRATING: IntervalState.COMPUTE,
    State.FAILED: IntervalState.COMPUTE,
    State.TERMINATING: IntervalState.COMPUTE,
}
_BY_SIGHT: Mapping[UpstreamState, IntervalState] = {
    UpstreamState.PROVISIONING: IntervalState.FREE,
    UpstreamState.EXITED: IntervalState.STORAGE,
    UpstreamState.FROZEN: IntervalState.STORAGE,
    UpstreamState.REMOVED: IntervalState.FREE,
}


def interval_state(
    state: State, upstream: UpstreamState | None, *, has_upstream: bool
) -> IntervalState | None:
    """Return what is billed meanwhile; None: no interval is open, for there is nothing to bill.

    What the cloud shows wins over our state; what it does not show is taken for the dearer.
    """
    opened = _BY_STATE.get(state)
    if opened is None or not has_upstream:
        return None
    if upstream is None or upstream is UpstreamState.UNKNOWN:
        return opened
    return _BY_SIGHT.get(upstream, IntervalState.COMPUTE)


def interval_cost(interval: Interval, now: datetime) -> Usd:
    """Return what an interval cost until now, rounded to the nearest unit."""
    if interval.amount is not None:
        return interval.amount
    if interval.state is IntervalState.FREE:
        return Usd(0)
    ticks = ((interval.to_at or now) - interval.from_at) // _TICK
    return Usd((2 * interval.price_per_hour.units * ticks + _TICKS_PER_HOUR) // (2 * _TICKS_PER_HOUR))
