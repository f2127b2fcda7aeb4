"""Readiness: what one endpoint's answer means, and what all of them mean together.

*Healthy* is a status below 400 (or one of those expected) and a body that is no gateway's error page. Who
asks the endpoints, and when, is not decided here; only what the answer is worth, how long to wait before
the next round, and when to give up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ostler.domain.catalogue import Port, Protocol
from ostler.domain.health_policy import HealthPolicy

BODY_BYTES_JUDGED = 65_536
FAILED_PROBES_IN_A_ROW = 3
MAX_DELAY = timedelta(seconds=60)
_LEAST_BAD_STATUS = 400
_MOST_DOUBLINGS = 20  # far past any longest pause
_ERROR_PAGES = (
    b"bad gateway",
    b"service unavailable",
    b"service temporarily unavailable",
    b"internal server error",
    b"gateway timeout",
    b"gateway time-out",
)


class ErrorCategory(StrEnum):
    """Why an endpoint is not healthy."""

    TIMEOUT = "timeout"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    DNS = "dns"
    SSL = "ssl"
    BAD_STATUS = "bad_status"
    ERROR_BODY = "error_body"
    INVALID_RESPONSE = "invalid_response"


class Overall(StrEnum):
    """What all endpoints together are."""

    HEALTHY = "healthy"
    PARTIAL = "partial"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class Responded:
    """An HTTP answer; of its body the first 64 KiB count."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Connected:
    """A TCP port accepted a connection."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing that can be judged came back."""

    category: ErrorCategory
    message: str


Reply = Responded | Connected | NoAnswer


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to one endpoint."""

    port: int
    endpoint: str
    asked_at: datetime
    took: timedelta


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """What one endpoint is."""

    port: int
    endpoint: str
    is_healthy: bool
    last_checked: datetime
    response_time_ms: int
    status_code: int | None = None
    error_category: ErrorCategory | None = None
    message: str = ""


def checked_ports(policy: HealthPolicy, exposed: Sequence[Port]) -> tuple[Port, ...]:
    """Return the ports that are asked: the target alone, or all; none: there is nothing to check."""
    return tuple(port for port in exposed if policy.target_port in {None, port.number})


def is_checked_by_default(exposed: Sequence[Port]) -> bool:
    """Tell whether a start checks health when its request says nothing."""
    return any(port.protocol is Protocol.HTTP for port in exposed)


def judge(probe: Probe, reply: Reply, expect_status: frozenset[int] = frozenset()) -> EndpointHealth:
    """Say what an endpoint's answer is worth."""
    objection = _objection(reply, expect_status)
    return EndpointHealth(
        port=probe.port,
        endpoint=probe.endpoint,
        is_healthy=objection is None,
        last_checked=probe.asked_at,
        response_time_ms=round(probe.took / timedelta(milliseconds=1)),
        status_code=reply.status if isinstance(reply, Responded) else None,
        error_category=None if objection is None else objection.category,
        message="" if objection is None else objection.message,
    )


def overall(endpoints: Sequence[EndpointHealth]) -> Overall:
    """Say what all endpoints are together; without any, nothing has answered."""
    healthy = sum(endpoint.is_healthy for endpoint in endpoints)
    if healthy == 0:
        return Overall.UNHEALTHY
    return Overall.HEALTHY if healthy == len(endpoints) else Overall.PARTIAL


def delay_before_retry(policy: HealthPolicy, failed_rounds: int, jitter: float) -> timedelta:
    """Return the pause after so many failed rounds: doubling for `retry_attempts` rounds, then steady.

    `jitter`, from 0 to 1, takes up to half of the pause away, so that many instances do not ask at once.
    """
    doublings = min(failed_rounds, policy.retry_attempts, _MOST_DOUBLINGS) - 1
    longest = max(policy.retry_delay, MAX_DELAY)
    pause = min(policy.retry_delay * (1 << max(0, doublings)), longest)
    return pause * (1 - jitter / 2)


def is_given_up(policy: HealthPolicy, began_at: datetime, now: datetime) -> bool:
    """Tell whether the time for becoming healthy is over."""
    return now - began_at >= policy.max_wait


def has_lost_readiness(failed_in_a_row: int) -> bool:
    """Tell whether an instance that was ready no longer counts as such."""
    return failed_in_a_row >= FAILED_PROBES_IN_A_ROW


def next_probe_at(policy: HealthPolicy, last_at: datetime) -> datetime | None:
    """Return when a ready instance is probed again; None: never."""
    return last_at + policy.interval if policy.interval else None


def _objection(reply: Reply, expect_status: frozenset[int]) -> NoAnswer | None:
    match reply:
        case NoAnswer():
            return reply
        case Connected():
            return None
        case Responded(status, body):
            return _bad_status(status, expect_status) or _error_page(body)


def _bad_status(status: int, expect_status: frozenset[int]) -> NoAnswer | None:
    if status < _LEAST_BAD_STATUS and (not expect_status or status in expect_status):
        return None
    wanted = f"one of {sorted(expect_status)}" if expect_status else f"below {_LEAST_BAD_STATUS}"
    return NoAnswer(ErrorCategory.BAD_STATUS, f"answered with status {status}; healthy is {wanted}")


def _error_page(body: bytes) -> NoAnswer | None:
    seen = body[:BODY_BYTES_JUDGED].lower()
    page = next((words for words in _ERROR_PAGES if words in seen), None)
    if page is None:
        return None
    return NoAnswer(ErrorCategory.ERROR_BODY, f"the body is an error page: it says {page.decode()!r}")
