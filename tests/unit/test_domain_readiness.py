"""What an endpoint's answer is worth, and how long it is asked."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.catalogue import Port, Protocol
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.readiness import (
    BODY_BYTES_JUDGED,
    Connected,
    ErrorCategory,
    NoAnswer,
    Overall,
    Probe,
    Reply,
    Responded,
    checked_ports,
    delay_before_retry,
    has_lost_readiness,
    is_checked_by_default,
    is_given_up,
    judge,
    next_probe_at,
    overall,
)
from tests.support.builders import NOW, after, an_endpoint

PROBE = Probe(8080, "https://x-8080.example.test", NOW, timedelta(milliseconds=12.4))
HTTP, TCP = Port(8080, Protocol.HTTP), Port(22, Protocol.TCP)
POLICY = HealthPolicy(retry_attempts=3, retry_delay=timedelta(seconds=2), max_wait=timedelta(seconds=300))


@pytest.mark.parametrize("status", [200, 204, 301, 399])
def test_a_status_below_400_is_healthy(status: int) -> None:
    health = judge(PROBE, Responded(status, b"hello"))
    assert health.is_healthy
    assert (health.status_code, health.error_category, health.message) == (status, None, "")


@pytest.mark.parametrize("status", [400, 404, 500, 502])
def test_a_status_of_400_or_more_is_not(status: int) -> None:
    health = judge(PROBE, Responded(status, b""))
    assert health.error_category is ErrorCategory.BAD_STATUS
    assert str(status) in health.message


def test_an_expected_status_narrows() -> None:
    expected = frozenset({204})
    assert judge(PROBE, Responded(204, b""), expected).is_healthy
    refused = judge(PROBE, Responded(200, b""), expected)
    assert refused.error_category is ErrorCategory.BAD_STATUS
    assert "204" in refused.message
    assert not judge(PROBE, Responded(404, b""), frozenset({404})).is_healthy


@pytest.mark.parametrize(
    "page",
    [
        b"<h1>502 Bad Gateway</h1>",
        b"SERVICE UNAVAILABLE",
        b"503 Service Temporarily Unavailable",
        b"Internal Server Error",
        b"504 Gateway Time-out",
        b"Gateway Timeout",
    ],
)
def test_an_error_page_is_not_healthy_even_with_200(page: bytes) -> None:
    health = judge(PROBE, Responded(200, b"x" * 1000 + page))
    assert health.error_category is ErrorCategory.ERROR_BODY
    assert health.status_code == 200


def test_only_the_first_64_kib_of_a_body_are_judged() -> None:
    words = b"bad gateway"
    inside = b"x" * (BODY_BYTES_JUDGED - len(words)) + words
    assert not judge(PROBE, Responded(200, inside)).is_healthy
    assert judge(PROBE, Responded(200, b"x" + inside)).is_healthy


@pytest.mark.parametrize("category", ErrorCategory)
def test_no_answer_keeps_its_category_and_message(category: ErrorCategory) -> None:
    health = judge(PROBE, NoAnswer(category, "because"))
    assert (health.is_healthy, health.error_category, health.message) == (False, category, "because")
    assert health.status_code is None


def test_a_tcp_port_is_healthy_when_it_accepts() -> None:
    assert judge(PROBE, Connected()).is_healthy


def test_a_result_says_of_which_endpoint_and_how_quick() -> None:
    health = judge(PROBE, Connected())
    assert (health.port, health.endpoint, health.last_checked, health.response_time_ms) == (
        8080,
        PROBE.endpoint,
        NOW,
        12,
    )


@pytest.mark.parametrize(
    ("healthy", "expected"),
    [
        ([True, True], Overall.HEALTHY),
        ([True, False], Overall.PARTIAL),
        ([False, False], Overall.UNHEALTHY),
        ([], Overall.UNHEALTHY),
    ],
)
def test_all_endpoints_together(healthy: list[bool], expected: Overall) -> None:
    assert overall([an_endpoint(healthy=each) for each in healthy]) is expected


@given(st.binary(), st.integers(100, 599))
def test_every_http_answer_is_judged_one_way(body: bytes, status: int) -> None:
    replies: list[Reply] = [Responded(status, body)]
    health = judge(PROBE, replies[0])
    assert health.is_healthy is (health.error_category is None)
    assert not (health.is_healthy and status >= 400)


def test_the_pause_doubles_for_as_many_rounds_as_retries_and_then_stays() -> None:
    pauses = [delay_before_retry(POLICY, failed, 0).total_seconds() for failed in range(1, 6)]
    assert pauses == [2, 4, 8, 8, 8]


def test_jitter_takes_up_to_half_away_and_a_minute_is_the_most() -> None:
    assert delay_before_retry(POLICY, 1, 1) == timedelta(seconds=1)
    patient = HealthPolicy(retry_attempts=100, retry_delay=timedelta(seconds=2))
    assert delay_before_retry(patient, 90, 0) == timedelta(seconds=60)
    slow = HealthPolicy(retry_delay=timedelta(seconds=90))
    assert delay_before_retry(slow, 3, 0) == timedelta(seconds=90)


def test_checking_is_given_up_at_the_end_of_the_wait() -> None:
    assert not is_given_up(POLICY, NOW, after(299.9))
    assert is_given_up(POLICY, NOW, after(300))


def test_three_failed_probes_in_a_row_lose_readiness() -> None:
    assert [has_lost_readiness(failed) for failed in range(5)] == [False, False, False, True, True]


def test_a_ready_instance_is_probed_by_its_interval_or_never() -> None:
    assert next_probe_at(HealthPolicy(), NOW) == after(60)
    assert next_probe_at(HealthPolicy(interval=timedelta()), NOW) is None


def test_all_exposed_ports_are_checked_or_the_target_alone() -> None:
    assert checked_ports(HealthPolicy(), [HTTP, TCP]) == (HTTP, TCP)
    assert checked_ports(HealthPolicy(target_port=22), [HTTP, TCP]) == (TCP,)
    assert checked_ports(HealthPolicy(target_port=80), [HTTP, TCP]) == ()


def test_a_start_is_checked_by_default_where_http_is_exposed() -> None:
    assert is_checked_by_default([TCP, HTTP])
    assert not is_checked_by_default([TCP])
