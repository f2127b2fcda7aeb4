"""Prometheus metrics: what is counted, under which name. One registry per process part, made at assembly.

Things that happen are counted here as they happen; things that are (a breaker's state, the age of a cache)
are read at scrape time by collectors that their owners register. Labels have few values: never an id, never
what a stranger may choose.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0, generate_latest
from prometheus_client.registry import Collector

from ostler.telemetry.readings import Timing, nested_timings, timings

CONTENT_TYPE = CONTENT_TYPE_PLAIN_1_0_0
Sample = tuple[tuple[str, ...], float]  # label values and the reading
Read = Callable[[], Iterable[Sample]]
Family = GaugeMetricFamily | CounterMetricFamily
_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LONG = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The counters of this process and the text that Prometheus reads."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._process = ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = self._histogram(
            "ostler_http_request_duration_seconds",
            "Requests to Ostler's API by route, method and status.",
            ("method", "route", "status"),
        )
        self._calls = self._histogram(
            "ostler_cloud_call_duration_seconds",
            "Calls to the cloud by operation, lane and outcome, without the time in the queue.",
            ("operation", "lane", "outcome"),
        )
        self._waits = self._histogram(
            "ostler_cloud_call_wait_seconds",
            "Time that calls to the cloud queued for the rate limit, by lane.",
            ("lane",),
        )
        self._jobs = self._histogram(
            "ostler_job_duration_seconds", "Runs of jobs by kind and outcome.", ("kind", "outcome"), _LONG
        )
        self._transactions = self._histogram(
            "ostler_database_transaction_duration_seconds",
            "Transactions by access and outcome, as those who wait for them see it.",
            ("access", "outcome"),
        )
        self._deliveries = self._histogram(
            "ostler_webhook_attempt_duration_seconds", "Attempts to deliver a webhook.", ("outcome",)
        )
        self._lag = self._histogram(
            "ostler_event_loop_lag_seconds", "By how much a short sleep came back late.", ()
        )
        self._retries = self._counter(
            "ostler_cloud_call_retries_total",
            "Calls to the cloud that were tried again, by operation.",
            "operation",
        )
        self._rate_limited = self._counter(
            "ostler_http_requests_rate_limited_total",
            "Requests that were one too many: of a key, or of an address without a good one.",
            "by",
        )
        self._audited = self._counter(
            "ostler_audit_entries_total",
            "Lines of the audit log by outcome; `thinned` and `lost` are those that were not written.",
            "outcome",
        )
        Gauge("ostler_build_info", "The version that runs.", ("version",), registry=self.registry).labels(
            version
        ).set(1)
        self._expect_the_first()

    def record_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).observe(seconds)

    def record_audit(self, outcome: str) -> None:
        """Count one line of the audit log."""
        self._audited.labels(outcome).inc()

    def record_rate_limited(self, by: str) -> None:
        """Count one request that was one too many."""
        self._rate_limited.labels(by).inc()

    def record_call(self, operation: str, lane: str, outcome: str, seconds: float, waited: float) -> None:
        """Count one call to the cloud: how it ended, how long it took, how long it queued."""
        self._calls.labels(operation, lane, outcome).observe(seconds)
        self._waits.labels(lane).observe(waited)

    def record_retry(self, operation: str) -> None:
        """Count one more try of a call to the cloud."""
        self._retries.labels(operation).inc()

    def expect_job(self, kind: str) -> None:
        """Have the first unexpected error of a kind seen as the change that it is."""
        self._jobs.labels(kind, "error")

    def record_job(self, kind: str, outcome: str, seconds: float) -> None:
        """Count one run of a job."""
        self._jobs.labels(kind, outcome).observe(seconds)

    def record_transaction(self, access: str, outcome: str, seconds: float) -> None:
        """Count one transaction."""
        self._transactions.labels(access, outcome).observe(seconds)

    def record_delivery(self, outcome: str, seconds: float) -> None:
        """Count one attempt to deliver a webhook."""
        self._deliveries.labels(outcome).observe(seconds)

    def record_lag(self, seconds: float) -> None:
        """Count by how much the event loop was late."""
        self._lag.observe(seconds)

    def requests(self, by: str | None = None) -> Mapping[str, Timing]:
        """Return how requests went since the start, by a label, or all together under an empty word."""
        return timings(self._requests, by)

    def calls(self, by: str | None = None) -> Mapping[str, Timing]:
        """Return how calls to the cloud went since the start, as `requests` does."""
        return timings(self._calls, by)

    def jobs(self) -> Mapping[str, Mapping[str, Timing]]:
        """Return how jobs went since the start, by kind and within it by outcome."""
        return nested_timings(self._jobs, "kind", "outcome")

    def lag(self) -> Timing:
        """Return how late the event loop was since the start."""
        return timings(self._lag, None)[""]

    def process(self) -> Mapping[str, float]:
        """Return what the system knows of this process, under Prometheus' names."""
        return {sample.name: sample.value for family in self._process.collect() for sample in family.samples}

    def watch(self, name: str, text: str, labels: tuple[str, ...], read: Read) -> None:
        """Export a gauge whose samples are read at each scrape."""
        self.registry.register(_Reader(lambda: GaugeMetricFamily(name, text, labels=labels), read))

    def watch_total(self, name: str, text: str, labels: tuple[str, ...], read: Read) -> None:
        """Export a counter that its owner counts; `_total` is added to the name."""
        self.registry.register(_Reader(lambda: CounterMetricFamily(name, text, labels=labels), read))

    def exposition(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self.registry)

    def _expect_the_first(self) -> None:
        """What was never counted has no rate, so the first trouble would go unseen."""
        for access in ("read", "write"):
            self._transactions.labels(access, "away")
        for outcome in ("done", "refused", "failed", "thinned", "lost"):
            self._audited.labels(outcome)
        for by in ("key", "address"):
            self._rate_limited.labels(by)
        for outcome in ("delivered", "refused", "unreachable"):
            self._deliveries.labels(outcome)

    def _counter(self, name: str, text: str, label: str) -> Counter:
        return Counter(name, text, (label,), registry=self.registry)

    def _histogram(
        self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...] = _QUICK
    ) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)


class _Reader(Collector):
    """A family of samples that are read, not kept."""

    def __init__(
        self,
        family: Callable[[], Family],
        read: Read,
    ) -> None:
        self._family, self._read = family, read

    def describe(self) -> Iterable[Metric]:
        return [self._family()]  # so that registering reads nothing

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for labels, value in self._read():
            family.add_metric(labels, value)
        yield family
