"""What is read at each scrape: the breakers, the queues towards the cloud, the caches, the work.

Nothing is kept here; each gauge asks its owner for a snapshot.
"""

from collections.abc import Callable, Iterable

from ostler.cloud.breaker import BreakerState
from ostler.cloud.caches import Caches
from ostler.cloud.transport import Transport
from ostler.notify.feed import Feed
from ostler.telemetry.metrics import Metrics, Sample
from ostler.usecases.waiting import Waiting
from ostler.watch.standing import WatchStanding


def watch_transport(metrics: Metrics, transport: Transport) -> None:
    """Have the metrics read the breakers and the lanes at each scrape."""

    def states() -> Iterable[Sample]:
        for kind, snapshot in transport.breakers().items():
            yield from (((kind, state), float(snapshot.state is state)) for state in BreakerState)

    def openings() -> Iterable[Sample]:
        return (((kind,), snapshot.times_opened) for kind, snapshot in transport.breakers().items())

    def queued() -> Iterable[Sample]:
        return (((lane,), count) for lane, count in transport.lanes().queued.items())

    def in_flight() -> Iterable[Sample]:
        return (((lane,), count) for lane, count in transport.lanes().in_flight.items())

    def held() -> Iterable[Sample]:
        yield (), transport.lanes().held_for_s

    text = "For so long still the cloud has asked us to send nothing."
    metrics.watch("ostler_cloud_held_seconds", text, (), held)
    metrics.watch("ostler_cloud_breaker_state", "1 for a breaker's state, else 0.", ("kind", "state"), states)
    metrics.watch_total("ostler_cloud_breaker_openings", "How often a breaker opened.", ("kind",), openings)
    metrics.watch("ostler_cloud_calls_queued", "Calls that wait in a lane.", ("lane",), queued)
    metrics.watch("ostler_cloud_calls_in_flight", "Calls that the cloud is answering.", ("lane",), in_flight)


def watch_caches(metrics: Metrics, caches: Caches) -> None:
    """Have the metrics read the caches at each scrape."""

    def lookups() -> Iterable[Sample]:
        for name, stats in caches.stats().items():
            yield (name, "hit"), stats.hits
            yield (name, "miss"), stats.misses

    def sizes() -> Iterable[Sample]:
        return (((name,), stats.size) for name, stats in caches.stats().items())

    metrics.watch_total("ostler_cache_lookups", "Look-ups in a cache.", ("cache", "result"), lookups)
    metrics.watch("ostler_cache_values", "Values that a cache holds.", ("cache",), sizes)


def watch_watcher(metrics: Metrics, standing: WatchStanding) -> None:
    """Have the metrics read what is known of the watcher at each scrape."""

    def watch(name: str, text: str, read: Callable[[], float | None]) -> None:
        def samples() -> Iterable[Sample]:
            return [] if (value := read()) is None else [((), value)]

        metrics.watch(name, text, (), samples)

    def took() -> float | None:
        last = standing.known.last_pass
        return None if last is None else last.took.total_seconds()

    def interval() -> float | None:
        last = standing.known.last_pass
        return None if last is None or last.interval is None else last.interval.total_seconds()

    def lag() -> float | None:
        return None if (lag := standing.lag()) is None else lag.total_seconds()

    watch("ostler_watcher_pass_duration_seconds", "How long the watcher's last pass took.", took)
    watch("ostler_watcher_interval_seconds", "The interval between passes that is really reached.", interval)
    watch("ostler_watcher_lag_seconds", "Age of the last whole picture of the account.", lag)
    text = "Passes in a row that came to nothing."
    watch("ostler_watcher_failed_passes", text, lambda: standing.known.failures)
    text = "1 while the account is not believed to be ours."
    watch("ostler_account_suspect", text, lambda: standing.known.suspicion is not None)


def watch_audience(metrics: Metrics, feed: Feed, waiting: Waiting) -> None:
    """Have the metrics read who follows the live feed and who waits for instances."""

    def followers() -> Iterable[Sample]:
        yield (), feed.follower_count

    def waiters() -> Iterable[Sample]:
        yield (), waiting.waiter_count

    metrics.watch("ostler_feed_followers", "Connections that follow the live feed.", (), followers)
    metrics.watch("ostler_waiters", "Requests that wait until an instance is so.", (), waiters)
