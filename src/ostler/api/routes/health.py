"""`/health`, `/health/live`, `/health/ready`: how Ostler is, for people, load balancers and supervisors.

The only routes without a key; they tell states and ages, never names, prices or addresses.
"""

from collections.abc import Mapping

from fastapi import APIRouter, Response

from ostler import __version__
from ostler.api.backing import Backing, WithBacking
from ostler.api.model import Answer, Instant
from ostler.api.routes.breaker_answers import BreakerAnswer, breaker_answer
from ostler.clock import Clock
from ostler.cloud.request import Kind
from ostler.usecases.health import Finding, Standing

router = APIRouter(prefix="/health", tags=["health"])


class DependencyAnswer(Answer):
    """One thing that Ostler needs."""

    status: Standing
    detail: str
    observed_at: Instant | None
    age_seconds: float | None


class HealthAnswer(Answer):
    """How everything is."""

    status: Standing
    version: str
    simulated: bool
    uptime_seconds: float
    timestamp: Instant
    dependencies: Mapping[str, DependencyAnswer]
    breakers: Mapping[Kind, BreakerAnswer]


class LiveAnswer(Answer):
    """The process runs and answers."""

    status: str


_UNHEALTHY: dict[int | str, dict[str, object]] = {
    503: {"model": HealthAnswer, "description": "Unhealthy or stopping"}
}


@router.get("", summary="How Ostler and what it depends on are", responses=_UNHEALTHY)
async def health(backing: WithBacking, response: Response) -> HealthAnswer:
    return _answer(backing, response)


@router.get("/ready", summary="Whether requests should be sent here", responses=_UNHEALTHY)
async def readiness(backing: WithBacking, response: Response) -> HealthAnswer:
    return _answer(backing, response)


@router.get("/live", summary="Whether the process answers at all")
async def liveness() -> LiveAnswer:
    return LiveAnswer(status="alive")


def _answer(backing: Backing, response: Response) -> HealthAnswer:
    report = backing.health.report()
    if report.standing is Standing.UNHEALTHY:
        response.status_code = 503
    return HealthAnswer(
        status=report.standing,
        version=__version__,
        simulated=backing.is_simulated,
        uptime_seconds=round(report.uptime_s, 3),
        timestamp=backing.clock.now(),
        dependencies={name: _dependency(found, backing.clock) for name, found in report.dependencies.items()},
        breakers={kind: breaker_answer(seen) for kind, seen in report.breakers.items()},
    )


def _dependency(found: Finding, clock: Clock) -> DependencyAnswer:
    age = None if found.observed_at is None else (clock.now() - found.observed_at).total_seconds()
    return DependencyAnswer(
        status=found.standing,
        detail=found.detail,
        observed_at=found.observed_at,
        age_seconds=None if age is None else round(max(0.0, age), 3),
    )
