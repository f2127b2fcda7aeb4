"""The idle stop: how it stands, and a check at once. It is about instances with `idleStopMinutes` alone.

The earlier service stopped whatever was not used for 20 minutes; here each owner says so or not, and what
Ostler has no row of is never looked at.
"""

from collections.abc import Sequence

from fastapi import APIRouter
from pydantic import StrictBool

from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Instant, Question
from ostler.usecases.auto_stop import Finding, Verdict
from ostler.usecases.background import Kin

router = APIRouter(prefix="/api/instances/auto-stop", tags=["instances"])


class StatsAnswer(Answer):
    """How the idle stop stands, of what the key may see."""

    scheduler_running: bool
    check_interval_minutes: float
    default_inactivity_threshold_minutes: int | None  # never: what does not ask for it is not stopped
    last_check_at: Instant | None
    next_check_at: Instant | None
    watched: int
    eligible: int
    stopped: int


class TriggerBody(Question):
    """Without a word only what would be done is told."""

    dry_run: StrictBool = True


class FindingAnswer(Answer):
    """One instance that may be stopped for idleness."""

    instance_id: str
    name: str
    status: str
    verdict: Verdict
    reason: str
    idle_stop_minutes: int
    last_used_at: Instant | None
    stops_at: Instant
    gpu_use_percent: float | None
    job_id: str | None


class TriggerAnswer(Answer):
    """What a check finds, and what it has begun to do."""

    message: str
    dry_run: bool
    timestamp: Instant
    instances: list[FindingAnswer]


@router.get("/stats", summary="How the idle stop stands")
async def stats(on: Exchange) -> StatsAnswer:
    found, watcher = await on.instances.auto_stop.stats(on.asker), on.instances.watcher
    last_pass, interval = watcher.known.last_pass, watcher.interval
    last_check_at = None if last_pass is None else last_pass.began_at
    return StatsAnswer(
        scheduler_running=watcher.is_at_work(),
        check_interval_minutes=interval.total_seconds() / 60,
        default_inactivity_threshold_minutes=None,
        last_check_at=last_check_at,
        next_check_at=None if last_check_at is None else last_check_at + interval,
        watched=found.watched,
        eligible=found.eligible,
        stopped=found.stopped,
    )


@router.post("/trigger", summary="Look now for what nobody uses; `dryRun` only tells")
async def trigger(on: Exchange, body: TriggerBody | None = None) -> TriggerAnswer:
    is_dry = body is None or body.dry_run
    auto_stop = on.instances.auto_stop
    found = await (auto_stop.preview(on.asker) if is_dry else auto_stop.check(on.asker))
    return TriggerAnswer(
        message=_told(found) if is_dry else _begun(found),
        dry_run=is_dry,
        timestamp=on.occasion.at,
        instances=[_finding(each) for each in found],
    )


def _told(found: Sequence[Finding]) -> str:
    count = sum(each.verdict is Verdict.IDLE for each in found)
    return f"{_instances(count)} would be stopped."


def _begun(found: Sequence[Finding]) -> str:
    count = sum(each.verdict is Verdict.DUE for each in found)
    return f"Auto-stop check queued for {_instances(count)}."


def _instances(count: int) -> str:
    return f"{count} instance{'' if count == 1 else 's'}"


def _finding(found: Finding) -> FindingAnswer:
    instance = found.row.instance
    idle_stop = instance.spec.limits.idle_stop
    assert idle_stop is not None, instance.id
    return FindingAnswer(
        instance_id=instance.id,
        name=instance.name,
        status=instance.state,
        verdict=found.verdict,
        reason=_REASONS[found.verdict],
        idle_stop_minutes=round(idle_stop.total_seconds() / 60),
        last_used_at=found.row.last_used_at,
        stops_at=found.horizon.acts_at,
        gpu_use_percent=found.busiest_percent,
        job_id=None if found.job_id is None else f"{Kin.JOB}{found.job_id}",
    )


_REASONS = {
    Verdict.IN_USE: "it was used, or became usable, less than idleStopMinutes ago",
    Verdict.BUSY: "nobody marked it as used for idleStopMinutes, but its GPUs worked",
    Verdict.UNMEASURED: "the cloud does not tell what its GPUs did, so it is not stopped",
    Verdict.IDLE: "nobody marked it as used for idleStopMinutes, and its GPUs were still",
    Verdict.DUE: "nobody marked it as used for idleStopMinutes; it is stopped if its GPUs were still, too",
}
