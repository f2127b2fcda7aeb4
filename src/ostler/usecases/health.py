"""Health: whether Ostler and what it depends on are well, and since when that is known.

A *dependency* is what requests need from outside: the cloud, its breakers, the database. Each reports
what it has seen anyway; asking for health calls nobody. A *vital* one that is unhealthy makes Ostler
unhealthy; any other trouble makes it degraded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ostler.clock import Clock
from ostler.cloud.breaker import BreakerSnapshot, BreakerState
from ostler.cloud.observer import Outcome
from ostler.cloud.request import Kind

WORK_STALLED_S = 10.0  # polls come every 2 s; in 15 s the leases of a process run out


class Standing(StrEnum):
    """How something is."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"  # nothing has been seen of it yet


@dataclass(frozen=True, slots=True)
class Finding:
    """What a dependency reports of itself."""

    standing: Standing
    detail: str
    observed_at: datetime | None = None
    is_vital: bool = False


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The whole answer."""

    standing: Standing
    dependencies: Mapping[str, Finding]
    breakers: Mapping[Kind, BreakerSnapshot]
    uptime_s: float


class Health:
    """Collects the findings."""

    def __init__(
        self,
        clock: Clock,
        dependencies: Mapping[str, Callable[[], Finding]],
        breakers: Callable[[], Mapping[Kind, BreakerSnapshot]],
    ) -> None:
        self._clock = clock
        self._dependencies = dict(dependencies)
        self._breakers = breakers
        self._began = clock.monotonic()
        self._is_stopping = False

    def stop(self) -> None:
        """Say from now on that this process is going away."""
        self._is_stopping = True

    def report(self) -> HealthReport:
        """Return how everything is now."""
        breakers = self._breakers()
        found = {name: finding() for name, finding in self._dependencies.items()}
        found["breakers"] = breaker_finding(breakers.values(), self._clock.now())
        standing = Standing.UNHEALTHY if self._is_stopping else overall(found)
        return HealthReport(standing, found, breakers, self._clock.monotonic() - self._began)


def overall(found: Mapping[str, Finding]) -> Standing:
    """Return the standing of the whole."""
    if any(each.is_vital and each.standing is Standing.UNHEALTHY for each in found.values()):
        return Standing.UNHEALTHY
    if any(each.standing in {Standing.DEGRADED, Standing.UNHEALTHY} for each in found.values()):
        return Standing.DEGRADED
    return Standing.HEALTHY


class CloudPulse:
    """Remembers from the calls that are made anyway when the cloud last answered, and when it last failed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answered_at: datetime | None = None
        self._failed_at: datetime | None = None

    def hear(self, outcome: Outcome) -> None:
        """Hear how one call ended."""
        match outcome:
            case Outcome.ANSWERED | Outcome.REFUSED | Outcome.RATE_LIMITED:
                self._answered_at = self._clock.now()
            case Outcome.UNAVAILABLE | Outcome.AMBIGUOUS:
                self._failed_at = self._clock.now()
            case Outcome.CIRCUIT_OPEN | Outcome.TOO_LATE | Outcome.CANCELLED:
                pass  # nothing was seen of the cloud

    def finding(self) -> Finding:
        """Return whether the cloud answered last time."""
        if self._answered_at is None and self._failed_at is None:
            return Finding(Standing.UNKNOWN, "not asked yet")
        if self._failed_at is None or (
            self._answered_at is not None and self._answered_at >= self._failed_at
        ):
            return Finding(Standing.HEALTHY, "answers", self._answered_at)
        return Finding(Standing.DEGRADED, "did not answer the last call", self._failed_at)


def cloud_finding(heard: Finding, held_for_s: float, now: datetime) -> Finding:
    """Return how the cloud is: as it was heard last, but degraded while it asks for silence."""
    if held_for_s <= 0:
        return heard
    until = now + timedelta(seconds=held_for_s)
    return Finding(Standing.DEGRADED, f"asks us to wait until {until:%H:%M:%S} UTC", heard.observed_at)


def work_finding(idle_s: float | None, now: datetime, database: Finding) -> Finding:
    """Return whether durable work is carried out; `idle_s`: since work was last claimed, None: not yet."""
    observed_at = None if idle_s is None else now - timedelta(seconds=idle_s)
    if database.standing is Standing.UNHEALTHY:  # what could be claimed could not be written down
        return Finding(Standing.UNHEALTHY, "work waits for the database", observed_at, is_vital=True)
    if idle_s is None:
        return Finding(Standing.UNKNOWN, "work is about to begin", is_vital=True)
    if idle_s > WORK_STALLED_S:
        return Finding(
            Standing.UNHEALTHY, f"no work was claimed for {idle_s:.0f} s", observed_at, is_vital=True
        )
    return Finding(Standing.HEALTHY, "work is carried out", observed_at, is_vital=True)


def breaker_finding(snapshots: Iterable[BreakerSnapshot], now: datetime) -> Finding:
    """Return what the breakers let through."""
    tripped = [each for each in snapshots if each.state is not BreakerState.CLOSED]
    if not tripped:
        return Finding(Standing.HEALTHY, "closed: calls go through", now)
    detail = "; ".join(
        f"{each.name} {each.state}, next try at {each.next_try_at:%H:%M:%S} UTC" for each in tripped
    )
    return Finding(Standing.DEGRADED, detail, now)
