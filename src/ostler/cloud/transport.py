"""The transport: the only place that speaks HTTP with the cloud, and the only one that retries it.

One pooled client; every operation passes its kind's breaker, every call waits in its lane. Repeated are
reads, and writes that were provably not executed (no connection, 429); a write whose answer is missing is
Ambiguous and never repeated. Other refusals come back as a Reply: what they mean is the vendor's business.
"""

import asyncio
import random
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

import httpx2
import orjson
import stamina
from opentelemetry.trace import SpanKind
from pydantic import SecretStr

from ostler.clock import Clock
from ostler.cloud.breaker import Breaker, BreakerSnapshot, InterlockBreaker
from ostler.cloud.lanes import Allowance, Lanes, LanesSnapshot
from ostler.cloud.observer import CallObserver, NobodyObserves, Outcome
from ostler.cloud.refusals import (
    Ambiguous,
    CircuitOpen,
    CloudRefusal,
    RateLimited,
    TimedOut,
    TooLate,
    Unavailable,
)
from ostler.cloud.request import Kind, Reply, Request
from ostler.cloud.retry_after import instant_told, seconds_asked
from ostler.telemetry.trail import Trail

_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0
_CONNECT_SHARE = 0.5  # of the timeout: what expires later was connected, and so perhaps sent
_TOO_MANY = 429
_DATE_RESOLUTION_S = 1.0  # the header is cut to whole seconds
_FAILING = 500


@dataclass(frozen=True, slots=True)
class TransportConfig:
    """How to reach the cloud and how hard to try."""

    base_url: str  # the root, such as https://api.novita.ai
    api_key: SecretStr
    timeout_s: float = 30.0  # of one call
    max_attempts: int = 3  # calls per operation; as many operations in a row open the breaker
    per_minute: int = 100  # calls; 0: no limit
    recovery_s: float = 60.0  # of an open breaker
    max_calls: int = 32  # in flight
    trust: ssl.SSLContext | None = None  # whose certificates are believed; None: those the machine believes


class Transport:
    """Sends requests. Made and closed inside the event loop that uses it."""

    def __init__(
        self,
        config: TransportConfig,
        clock: Clock,
        observer: CallObserver | None = None,
        trail: Trail | None = None,
        network: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._observer = observer or NobodyObserves()
        self._trail = trail or Trail()
        self._lanes = Lanes(Allowance(config.per_minute, config.max_calls))
        self._breakers: Mapping[Kind, Breaker] = {
            kind: InterlockBreaker(kind, config.max_attempts, config.recovery_s, clock) for kind in Kind
        }
        self._client = _client(config, network)
        self._skew_s: float | None = None

    async def send(self, request: Request) -> Reply:
        """Carry out one operation; return the cloud's decision or raise why there is none."""
        breaker = self._breakers[request.kind]
        try:
            return await breaker.run(
                request.operation, lambda: self._with_retries(request), is_urgent=request.is_urgent
            )
        except CircuitOpen:
            self._observer.record_call(request.operation, request.lane, Outcome.CIRCUIT_OPEN, 0.0, 0.0)
            raise

    def breakers(self) -> Mapping[Kind, BreakerSnapshot]:
        """Return what can be seen of the breakers now."""
        return MappingProxyType({kind: breaker.snapshot() for kind, breaker in self._breakers.items()})

    def clock_skew_s(self) -> float | None:
        """Return by how much the cloud's clock was ahead of ours at its last answer, to the second."""
        return self._skew_s

    def lanes(self) -> LanesSnapshot:
        """Return what can be seen of the queues now."""
        return self._lanes.snapshot()

    async def aclose(self) -> None:
        """Close all connections."""
        self._lanes.close()
        await self._client.aclose()

    async def _with_retries(self, request: Request) -> Reply:
        attempts = stamina.retry_context(
            on=_Backoff(self._breakers[request.kind]),
            attempts=self._config.max_attempts,
            timeout=None,
        )
        async for attempt in attempts:
            with attempt:
                if attempt.num > 1:
                    self._observer.record_retry(request.operation)
                return await self._in_turn(request, attempt.num)
        raise AssertionError

    async def _in_turn(self, request: Request, attempt: int) -> Reply:
        waited = await self._lanes.enter(request.lane, is_command=request.is_command)
        began = self._clock.monotonic()
        outcome = Outcome.CANCELLED
        try:
            reply = await self._traced(request, attempt)
            outcome = Outcome.ANSWERED if reply.status < httpx2.codes.BAD_REQUEST else Outcome.REFUSED
        except CloudRefusal as refusal:
            outcome = _OUTCOMES[type(refusal)]
            raise
        else:
            return reply
        finally:
            self._lanes.leave(request.lane)
            seconds = self._clock.monotonic() - began
            self._observer.record_call(request.operation, request.lane, outcome, seconds, waited)

    async def _traced(self, request: Request, attempt: int) -> Reply:
        attributes: dict[str, str | int] = {
            "http.request.method": request.method,
            "url.path": request.path,  # never the query: it may carry a name or worse
            "ostler.lane": request.lane,
            "ostler.attempt": attempt,
        }
        with self._trail.span(f"cloud {request.operation}", SpanKind.CLIENT, attributes) as span:
            reply = await self._call(request)
            span.set_attribute("http.response.status_code", reply.status)
            return reply

    async def _call(self, request: Request) -> Reply:
        began_at = self._clock.now()
        if request.not_after is not None and began_at > request.not_after:
            raise TooLate(request.operation)
        try:
            async with asyncio.timeout(self._config.timeout_s):
                response = await self._client.send(self._built(request))
        except TimeoutError as error:
            raise _late(request, f"no answer within {self._config.timeout_s:g} s") from error
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise Unavailable(request.operation, "no connection") from error
        except httpx2.RequestError as error:
            raise _unanswered(request, f"connection broke ({type(error).__name__})") from error
        return self._judged(request, response, began_at)

    def _built(self, request: Request) -> httpx2.Request:
        headers = self._trail.headers()
        content = None
        if request.body is not None:
            content = orjson.dumps(request.body)
            headers["Content-Type"] = "application/json"
        return self._client.build_request(
            request.method, request.path, params=request.query or None, content=content, headers=headers
        )

    def _judged(self, request: Request, response: httpx2.Response, began_at: datetime) -> Reply:
        self._skew_s = _skew_s(response.headers.get("Date"), began_at, self._clock.now())
        if response.status_code == _TOO_MANY:
            asked_s = seconds_asked(response.headers.get("Retry-After"), self._clock.now())
            self._lanes.hold(asked_s or 0.0)
            raise RateLimited(request.operation, asked_s)
        if response.status_code >= _FAILING:
            asked_s = seconds_asked(response.headers.get("Retry-After"), self._clock.now())
            raise _unanswered(request, f"status {response.status_code}", asked_s)
        return Reply(response.status_code, response.content, began_at)


def _skew_s(told: str | None, began_at: datetime, ended_at: datetime) -> float | None:
    """Return how far the instant that an answer carries lies outside of the time that it took."""
    at = instant_told(told)
    if at is None:
        return None
    if at > ended_at:
        return (at - ended_at).total_seconds()
    return min(0.0, (at - began_at).total_seconds() + _DATE_RESOLUTION_S)


class _Backoff:
    """Tells stamina whether and when to try again: full jitter below 1, 2 … 30 s, or what the cloud asks."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker
        self._ceiling_s = _FIRST_WAIT_S

    def __call__(self, error: Exception) -> bool | float:
        if not isinstance(error, Unavailable | RateLimited):
            return False
        if not self._breaker.is_closed():  # a probe is one call, and others have found out meanwhile
            return False
        wait_s = random.uniform(0, self._ceiling_s)  # noqa: S311 -- spreads callers, guards nothing
        self._ceiling_s = min(2 * self._ceiling_s, _LONGEST_WAIT_S)
        if error.retry_after_s is None:
            return wait_s
        # a longer silence is for the caller to plan with, not to sit out here
        return False if error.retry_after_s > _LONGEST_WAIT_S else error.retry_after_s + wait_s


_OUTCOMES: Mapping[type[CloudRefusal], Outcome] = {
    RateLimited: Outcome.RATE_LIMITED,
    Unavailable: Outcome.UNAVAILABLE,
    TimedOut: Outcome.UNAVAILABLE,
    Ambiguous: Outcome.AMBIGUOUS,
    TooLate: Outcome.TOO_LATE,
}


def _unanswered(request: Request, seen: str, retry_after_s: float | None = None) -> CloudRefusal:
    """Return what a missing answer means: nothing for a read, anything for a write."""
    if request.kind is Kind.READ:
        return Unavailable(request.operation, seen, retry_after_s)
    return Ambiguous(request.operation, seen)


def _late(request: Request, seen: str) -> CloudRefusal:
    """Return what it means that no answer came in time."""
    if request.kind is Kind.READ:
        return TimedOut(request.operation, seen)
    return Ambiguous(request.operation, seen)


def _client(config: TransportConfig, network: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    connect_s = config.timeout_s * _CONNECT_SHARE
    limits = httpx2.Limits(max_connections=config.max_calls, max_keepalive_connections=config.max_calls)
    return httpx2.AsyncClient(
        base_url=config.base_url,
        headers={
            "Authorization": f"Bearer {config.api_key.get_secret_value()}",
            "Accept": "application/json",
        },
        timeout=httpx2.Timeout(config.timeout_s, connect=connect_s, pool=connect_s),
        limits=limits,
        transport=network,
        verify=config.trust or True,
        follow_redirects=False,
        trust_env=False,  # only settings.py reads the environment
    )
