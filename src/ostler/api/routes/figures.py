"""`/api/metrics`: how Ostler does, as JSON for people and simple monitors.

Counters are of this process since its start; `queue`, `instances`, `dollarsPerHour`, `unowned` and
`deliveries` are of the whole installation, as of `countedAt`. It asks neither the database nor the cloud,
so it answers when they are away.
"""

from collections.abc import Mapping

from fastapi import APIRouter

from ostler.api.backing import WithBacking
from ostler.api.exchange import Exchange
from ostler.api.figures import Figures, WithFigures
from ostler.api.model import Answer, Instant
from ostler.api.routes.breaker_answers import BreakerAnswer, breaker_answer
from ostler.cloud.caches import CacheStats
from ostler.domain.lifecycle import State
from ostler.store.jobs import JobStatus
from ostler.store.tallies import Tallies
from ostler.telemetry.readings import Timing, merged
from ostler.watch.standing import WatchStanding

router = APIRouter(prefix="/api/metrics", tags=["health"])


class TimingAnswer(Answer):
    """How often something happened, and how long it took; below five, percentiles are null."""

    count: int
    average_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class RequestsAnswer(Answer):
    """The requests that this process has answered."""

    total: int
    by_status: Mapping[str, int]
    by_route: Mapping[str, TimingAnswer]
    latency: TimingAnswer


class ProcessAnswer(Answer):
    """What the system knows of this process; null where it does not tell."""

    resident_bytes: int | None
    virtual_bytes: int | None
    cpu_seconds: float | None
    open_files: int | None
    event_loop_lag: TimingAnswer


class JobRunsAnswer(Answer):
    """The runs of a type of job in this process."""

    total: int
    by_outcome: Mapping[str, int]
    duration: TimingAnswer


class OpenJobsAnswer(Answer):
    """The jobs of a type that are not finished."""

    type: str
    priority: str
    status: str
    count: int
    oldest_due_seconds: float


class QueueAnswer(Answer):
    """All work that is not finished."""

    pending: int
    processing: int
    oldest_due_seconds: float
    jobs: list[OpenJobsAnswer]


class CloudCallsAnswer(Answer):
    """The calls of this process to the cloud."""

    total: int
    by_outcome: Mapping[str, int]
    by_operation: Mapping[str, TimingAnswer]
    queued: int
    in_flight: int


class CacheRatioAnswer(Answer):
    """How one cache does."""

    size: int
    hits: int
    misses: int
    hit_ratio: float


class WatcherAnswer(Answer):
    """The watcher, wherever it runs."""

    pass_seconds: float | None
    interval_seconds: float | None
    lag_seconds: float | None
    failed_passes: int
    account_suspect: bool


class UnownedAnswer(Answer):
    """What is billed and no row's own."""

    count: int
    dollars_per_hour: float


class MetricsAnswer(Answer):
    """How Ostler does."""

    timestamp: Instant
    uptime_seconds: float
    process: ProcessAnswer
    requests: RequestsAnswer
    jobs: Mapping[str, JobRunsAnswer]
    cloud_calls: CloudCallsAnswer
    breakers: Mapping[str, BreakerAnswer]
    caches: Mapping[str, CacheRatioAnswer]
    watcher: WatcherAnswer
    counted_at: Instant | None
    queue: QueueAnswer | None
    instances: Mapping[State, int] | None
    dollars_per_hour: float | None
    unowned: Mapping[str, UnownedAnswer] | None
    deliveries: Mapping[str, int] | None
    followers: int
    waiters: int


@router.get("", summary="How Ostler does, in figures")
async def figures(on: Exchange, backing: WithBacking, found: WithFigures) -> MetricsAnswer:
    counted = found.tally.last
    return MetricsAnswer(
        timestamp=backing.clock.now(),
        uptime_seconds=round(backing.health.report().uptime_s, 3),
        process=_process(found),
        requests=_requests(found),
        jobs={kind: _runs(runs) for kind, runs in found.metrics.jobs().items()},
        cloud_calls=_cloud_calls(found),
        breakers={kind: breaker_answer(each) for kind, each in found.transport.breakers().items()},
        caches={name: _cache(stats) for name, stats in found.caches.stats().items()},
        watcher=_watcher(found.watcher),
        counted_at=None if counted is None else counted.at,
        queue=None if counted is None else _queue(counted),
        instances=None if counted is None else {each: counted.instances.get(each, 0) for each in State},
        dollars_per_hour=None if counted is None else float(counted.price_per_hour.amount),
        unowned=None if counted is None else _unowned(counted),
        deliveries=None if counted is None else {k: each.count for k, each in counted.deliveries.items()},
        followers=on.instances.feed.follower_count,
        waiters=on.instances.waiting.waiter_count,
    )


def _timing(seen: Timing) -> TimingAnswer:
    return TimingAnswer(
        count=seen.count,
        average_ms=_ms(seen.seconds / seen.count) if seen.count else None,
        p50_ms=_ms(seen.percentile_s(0.5)),
        p95_ms=_ms(seen.percentile_s(0.95)),
        p99_ms=_ms(seen.percentile_s(0.99)),
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _counts(timings: Mapping[str, Timing]) -> Mapping[str, int]:
    return {name: timing.count for name, timing in timings.items()}


def _timings(timings: Mapping[str, Timing]) -> Mapping[str, TimingAnswer]:
    return {name: _timing(timing) for name, timing in timings.items()}


def _process(found: Figures) -> ProcessAnswer:
    told = found.metrics.process()
    whole = {name: int(value) for name, value in told.items()}
    return ProcessAnswer(
        resident_bytes=whole.get("process_resident_memory_bytes"),
        virtual_bytes=whole.get("process_virtual_memory_bytes"),
        cpu_seconds=told.get("process_cpu_seconds_total"),
        open_files=whole.get("process_open_fds"),
        event_loop_lag=_timing(found.metrics.lag()),
    )


def _requests(found: Figures) -> RequestsAnswer:
    together = found.metrics.requests()[""]
    return RequestsAnswer(
        total=together.count,
        by_status=_counts(found.metrics.requests("status")),
        by_route=_timings(found.metrics.requests("route")),
        latency=_timing(together),
    )


def _runs(by_outcome: Mapping[str, Timing]) -> JobRunsAnswer:
    together = merged(by_outcome.values())
    return JobRunsAnswer(total=together.count, by_outcome=_counts(by_outcome), duration=_timing(together))


def _cloud_calls(found: Figures) -> CloudCallsAnswer:
    lanes = found.transport.lanes()
    return CloudCallsAnswer(
        total=found.metrics.calls()[""].count,
        by_outcome=_counts(found.metrics.calls("outcome")),
        by_operation=_timings(found.metrics.calls("operation")),
        queued=sum(lanes.queued.values()),
        in_flight=sum(lanes.in_flight.values()),
    )


def _cache(stats: CacheStats) -> CacheRatioAnswer:
    return CacheRatioAnswer(
        size=stats.size, hits=stats.hits, misses=stats.misses, hit_ratio=round(stats.hit_ratio, 4)
    )


def _watcher(standing: WatchStanding) -> WatcherAnswer:
    last, lag = standing.known.last_pass, standing.lag()
    interval = None if last is None else last.interval
    return WatcherAnswer(
        pass_seconds=None if last is None else last.took.total_seconds(),
        interval_seconds=None if interval is None else interval.total_seconds(),
        lag_seconds=None if lag is None else lag.total_seconds(),
        failed_passes=standing.known.failures,
        account_suspect=standing.known.suspicion is not None,
    )


def _queue(counted: Tallies) -> QueueAnswer:
    jobs = [
        OpenJobsAnswer(
            type=each.kind,
            priority=each.priority.name.lower(),
            status="processing" if each.status is JobStatus.RUNNING else "pending",
            count=each.count,
            oldest_due_seconds=each.oldest.total_seconds(),
        )
        for each in counted.jobs
    ]
    return QueueAnswer(
        pending=sum(each.count for each in jobs if each.status == "pending"),
        processing=sum(each.count for each in jobs if each.status == "processing"),
        oldest_due_seconds=max((each.oldest_due_seconds for each in jobs), default=0.0),
        jobs=jobs,
    )


def _unowned(counted: Tallies) -> Mapping[str, UnownedAnswer]:
    return {
        kinship.value: UnownedAnswer(count=each.count, dollars_per_hour=float(each.price_per_hour.amount))
        for kinship, each in counted.beside.items()
    }
