"""Doubles for the cloud's side: a clock on the event loop, a scripted network, an observer that remembers.

The clock follows the loop, so that under looptime a minute costs nothing; the network answers each request
from a script and remembers it, so that a test can count effects.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import httpx2
from pydantic import SecretStr

from ostler.cloud.lane import Lane
from ostler.cloud.observer import Outcome
from ostler.cloud.request import Kind, Request
from ostler.cloud.transport import Transport, TransportConfig
from ostler.cloud.upstream import CreateOrder
from ostler.domain.catalogue import BillingMode, Port, Protocol

API_KEY = "sk_canary_0123456789"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_TICK_S = 1e-6

Step = httpx2.Response | Exception | Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class LoopClock:
    """The event loop's clock as ours.

    Virtual time moves in microseconds: a shorter sleep would move nothing, and a loop that waits for an
    instant that lies between two of them would wait for ever.
    """

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, _TICK_S) if seconds > 0 else 0)  # noqa: TID251 -- this is a clock


class HandClock:
    """A clock that a test turns by hand; nobody can wait on it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


@dataclass
class ScriptedNetwork:
    """Answers requests in the order of its steps; the last step repeats."""

    steps: Sequence[Step]
    requests: list[httpx2.Request] = field(default_factory=list)
    instants: list[float] = field(default_factory=list)

    def transport(self) -> httpx2.AsyncBaseTransport:
        """Return what the HTTP client takes for a network."""
        return httpx2.MockTransport(self._answer)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        step = self.steps[min(len(self.requests), len(self.steps) - 1)]
        self.requests.append(request)
        self.instants.append(asyncio.get_running_loop().time())
        if isinstance(step, Exception):
            raise step
        if isinstance(step, httpx2.Response):
            # a response can be read once; each request gets its own
            return httpx2.Response(step.status_code, headers=step.headers, content=step.content)
        return await step(request)


@dataclass
class CallLog:
    """Remembers what it is told of calls."""

    calls: list[tuple[str, Lane, Outcome]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    retries: list[str] = field(default_factory=list)

    def record_call(
        self, operation: str, lane: Lane, outcome: Outcome, seconds: float, waited: float
    ) -> None:
        self.calls.append((operation, lane, outcome))
        self.seconds.append(seconds)
        self.waits.append(waited)

    def record_retry(self, operation: str) -> None:
        self.retries.append(operation)

    @property
    def outcomes(self) -> list[Outcome]:
        return [outcome for _, _, outcome in self.calls]


def answer(status: int = 200, json: object = None, headers: dict[str, str] | None = None) -> httpx2.Response:
    """Return a response of the cloud."""
    return httpx2.Response(status, json={} if json is None else json, headers=headers)


def a_config(
    *, attempts: int = 3, per_minute: int = 0, timeout_s: float = 30.0, max_calls: int = 32
) -> TransportConfig:
    """Return a transport's configuration, by default without a rate limit."""
    return TransportConfig(
        base_url="http://cloud.test",
        api_key=SecretStr(API_KEY),
        timeout_s=timeout_s,
        max_attempts=attempts,
        per_minute=per_minute,
        recovery_s=60.0,
        max_calls=max_calls,
    )


def a_transport(
    network: ScriptedNetwork, config: TransportConfig | None = None, observer: CallLog | None = None
) -> Transport:
    """Return a transport on a scripted network, in the loop's time."""
    return Transport(config or a_config(), LoopClock(), observer=observer, network=network.transport())


def a_request(kind: Kind = Kind.READ, lane: Lane = Lane.USER, *, is_urgent: bool = False) -> Request:
    """Return a request of a kind."""
    method = "GET" if kind is Kind.READ else "POST"
    body = None if kind is Kind.READ else {"instanceId": "i-1"}
    return Request(f"a_{kind}", kind, lane, method, "/path", body=body, is_urgent=is_urgent)


def an_order(name: str = "demo", product_id: str = "4090.16c62g", region_id: str = "us-ca-6") -> CreateOrder:
    """Return an order for one GPU on demand."""
    return CreateOrder(
        name=name,
        product_id=product_id,
        region_id=region_id,
        gpus=1,
        rootfs_gb=60,
        image="docker.io/library/ubuntu:22.04",
        billing_mode=BillingMode.ON_DEMAND,
        ports=(Port(8080, Protocol.HTTP),),
        envs={"TOKEN": "env-canary-value"},
    )
