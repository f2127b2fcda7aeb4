"""Reading histograms back: percentiles lie where the observations do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from ostler.telemetry.readings import LEAST, merged, nested_timings, timings

BOUNDS = (0.01, 0.1, 1.0, 10.0)


def a_histogram() -> Histogram:
    return Histogram("h", "h", ("a", "b"), buckets=BOUNDS, registry=CollectorRegistry())


@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("pq"), st.floats(0, 9)), min_size=LEAST),
    st.floats(0.01, 1),
)
def test_a_percentile_lies_in_the_bucket_of_the_observation(
    seen: list[tuple[str, str, float]], share: float
) -> None:
    histogram = a_histogram()
    for first, second, seconds in seen:
        histogram.labels(first, second).observe(seconds)
    whole = timings(histogram, None)[""]
    ranked = sorted(seconds for _, _, seconds in seen)
    exact = ranked[max(0, -int(-share * len(seen) // 1) - 1)]
    upper = next(bound for bound in BOUNDS if exact <= bound)
    lower = max((bound for bound in BOUNDS if bound < upper), default=0.0)
    found = whole.percentile_s(share)
    assert found is not None
    assert lower <= found <= upper
    assert whole.count == len(seen)
    assert whole.seconds == pytest.approx(sum(ranked))


def test_by_a_label_each_is_its_own_and_together_they_are_the_whole() -> None:
    histogram = a_histogram()
    for first, second in ("xp", "xq", "yp"):
        histogram.labels(first, second).observe(0.05)
    by_first = timings(histogram, "a")
    assert {name: each.count for name, each in by_first.items()} == {"x": 2, "y": 1}
    assert merged(by_first.values()) == timings(histogram, None)[""]
    assert nested_timings(histogram, "a", "b")["x"]["q"].count == 1


def test_what_hardly_happened_has_no_percentile_and_what_is_off_the_scale_its_last_bound() -> None:
    histogram = a_histogram()
    for _ in range(LEAST):
        assert timings(histogram, None)[""].percentile_s(0.5) is None
        histogram.labels("x", "p").observe(99)
    assert timings(histogram, None)[""].percentile_s(0.5) == BOUNDS[-1]
