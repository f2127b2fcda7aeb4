"""Reading histograms back: counts, sums and percentiles for people who have no Prometheus.

A percentile is read from the buckets by a straight line inside the one that it falls into, as Prometheus
does it; beyond the last bound it is that bound. Of fewer than five observations there is none.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from prometheus_client import Histogram

LEAST = 5  # observations; of fewer a percentile would tell where a bucket ends


@dataclass(slots=True)
class Timing:
    """How often something happened and how long it took."""

    count: int = 0
    seconds: float = 0.0
    buckets: dict[float, int] = field(default_factory=dict)  # upper bound: how many took at most so long

    def percentile_s(self, share: float) -> float | None:
        """Return how long it took at most for so large a share; None when it hardly ever happened."""
        if self.count < LEAST:
            return None
        rank = share * self.count
        below, lower = 0, 0.0
        for upper, count in sorted(self.buckets.items()):
            if count >= rank:
                if upper == inf:
                    return lower
                return lower + (upper - lower) * (rank - below) / max(1, count - below)
            below, lower = count, upper
        return lower


def timings(histogram: Histogram, by: str | None) -> Mapping[str, Timing]:
    """Return what a histogram has seen, by one of its labels, or all together under an empty word."""
    found = _collected(histogram, () if by is None else (by,))
    return {labels[0] if labels else "": timing for labels, timing in found.items()}


def nested_timings(histogram: Histogram, outer: str, inner: str) -> Mapping[str, Mapping[str, Timing]]:
    """Return what a histogram has seen, by one label, and within it by another."""
    found: defaultdict[str, dict[str, Timing]] = defaultdict(dict)
    for (first, second), timing in _collected(histogram, (outer, inner)).items():
        found[first][second] = timing
    return dict(found)


def merged(timings: Iterable[Timing]) -> Timing:
    """Return several as one."""
    whole = Timing()
    for each in timings:
        whole.count += each.count
        whole.seconds += each.seconds
        for bound, count in each.buckets.items():
            whole.buckets[bound] = whole.buckets.get(bound, 0) + count
    return whole


def _collected(histogram: Histogram, by: tuple[str, ...]) -> Mapping[tuple[str, ...], Timing]:
    found: defaultdict[tuple[str, ...], Timing] = defaultdict(Timing)
    if not by:
        found[()] = Timing()  # there is a whole even where nothing has happened
    for sample in (sample for family in histogram.collect() for sample in family.samples):
        timing = found[tuple(sample.labels[name] for name in by)]
        if sample.name.endswith("_bucket"):
            bound = float(sample.labels["le"])
            timing.buckets[bound] = timing.buckets.get(bound, 0) + int(sample.value)
        elif sample.name.endswith("_count"):
            timing.count += int(sample.value)
        elif sample.name.endswith("_sum"):
            timing.seconds += sample.value
    return found
