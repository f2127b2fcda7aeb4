"""The prober: asks the endpoints of instances whether they answer, for real, all at once.

An HTTP endpoint gets a GET on one shared client, without following redirects: those are answers. Its body
is read as far as it counts, and the time limit holds for the whole of it. A TCP port is connected to. An
address that leads inside is not called: the cloud, or who speaks in its name, does not choose whom we ask.
What an answer is worth is judged by `domain/readiness.py`; here what did not come gets its category.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta

import httpx2
from ssrfguard import SSRFGuardError

from ostler.clock import Clock
from ostler.cloud.checked_network import CheckedTransport, reached
from ostler.cloud.lookups import Lookups
from ostler.cloud.upstream import Endpoint
from ostler.domain.catalogue import Protocol
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.readiness import (
    BODY_BYTES_JUDGED,
    Connected,
    EndpointHealth,
    ErrorCategory,
    NoAnswer,
    Probe,
    Reply,
    Responded,
    judge,
)

_MOST_CONNECTIONS = 200
# the last two: an address with a port that no port is
_TROUBLE = (OSError, ValueError, httpx2.HTTPError, httpx2.InvalidURL, OverflowError, ExceptionGroup)
_HEADERS = {"User-Agent": "ostler-health-check", "Accept": "*/*", "Accept-Encoding": "identity"}


class HttpProber:
    """Probes over the network. Close it when nothing is to be probed any more."""

    def __init__(self, clock: Clock, lookups: Lookups, trust: ssl.SSLContext | None = None) -> None:
        self._clock = clock
        self._lookups = lookups
        self._client = httpx2.AsyncClient(
            headers=_HEADERS,
            follow_redirects=False,
            trust_env=False,
            transport=CheckedTransport(lookups, _MOST_CONNECTIONS, trust),
        )

    async def probe(self, endpoints: Sequence[Endpoint], policy: HealthPolicy) -> tuple[EndpointHealth, ...]:
        """Ask all endpoints at once; return what each one is, in the same order. Never raises."""
        return tuple(await asyncio.gather(*(self._probe(endpoint, policy) for endpoint in endpoints)))

    async def aclose(self) -> None:
        """Let go of what is still open."""
        await self._client.aclose()

    async def _probe(self, endpoint: Endpoint, policy: HealthPolicy) -> EndpointHealth:
        asked_at, began = self._clock.now(), self._clock.monotonic()
        reply = await self._answer(endpoint, policy)
        took = timedelta(seconds=self._clock.monotonic() - began)
        return judge(Probe(endpoint.port, endpoint.address, asked_at, took), reply, policy.expect_status)

    async def _answer(self, endpoint: Endpoint, policy: HealthPolicy) -> Reply:
        limit_s = policy.timeout.total_seconds()
        ask: Callable[[], Awaitable[Reply]]
        if endpoint.protocol is Protocol.TCP:
            ask = lambda: self._connected(endpoint.address)  # noqa: E731 -- one of two
        else:
            ask = lambda: self._get(endpoint.address.rstrip("/") + policy.path, limit_s)  # noqa: E731 -- the other
        try:
            async with asyncio.timeout(limit_s):
                return await ask()
        except TimeoutError:
            limit_ms = policy.timeout // timedelta(milliseconds=1)
            return NoAnswer(ErrorCategory.TIMEOUT, f"no answer within {limit_ms} ms")
        except SSRFGuardError as refusal:
            return NoAnswer(ErrorCategory.CONNECTION_REFUSED, f"not asked, for it leads inside: {refusal}")
        except _TROUBLE as error:
            return no_answer(error)

    async def _get(self, url: str, limit_s: float) -> Reply:
        # a TLS handshake that is cancelled from outside leaves its socket open: let it run out by itself
        timeout = httpx2.Timeout(limit_s, connect=limit_s / 2)
        async with self._client.stream("GET", url, timeout=timeout) as response:
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) >= BODY_BYTES_JUDGED:
                    break
            return Responded(response.status_code, bytes(body[:BODY_BYTES_JUDGED]))

    async def _connected(self, address: str) -> Reply:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        await reached(self._lookups, host.strip("[]"), int(port))
        return Connected()


def no_answer(error: Exception) -> NoAnswer:
    """Return what an error of the network says of an endpoint."""
    chain = tuple(_causes(error))
    category = _category(error, chain)
    return NoAnswer(category, f"{_MEANING[category]}: {_said(chain)}")


_MEANING = {
    ErrorCategory.TIMEOUT: "no answer in time",
    ErrorCategory.CONNECTION_REFUSED: "nothing listens there",
    ErrorCategory.CONNECTION_RESET: "the connection was cut",
    ErrorCategory.DNS: "its name cannot be resolved",
    ErrorCategory.SSL: "TLS failed",
    ErrorCategory.INVALID_RESPONSE: "the answer cannot be read",
    ErrorCategory.BAD_STATUS: "a bad status",
    ErrorCategory.ERROR_BODY: "an error page",
}
_BY_CAUSE: tuple[tuple[type[BaseException], ErrorCategory], ...] = (
    (ssl.SSLError, ErrorCategory.SSL),
    (socket.gaierror, ErrorCategory.DNS),
    (ConnectionRefusedError, ErrorCategory.CONNECTION_REFUSED),
    (TimeoutError, ErrorCategory.TIMEOUT),
    (ConnectionError, ErrorCategory.CONNECTION_RESET),
)
_BY_KIND: tuple[tuple[type[Exception], ErrorCategory], ...] = (
    (httpx2.TimeoutException, ErrorCategory.TIMEOUT),
    (httpx2.ConnectError, ErrorCategory.CONNECTION_REFUSED),
    (httpx2.NetworkError, ErrorCategory.CONNECTION_RESET),
)


def _category(error: Exception, chain: Sequence[BaseException]) -> ErrorCategory:
    for kind, category in _BY_CAUSE:
        if any(isinstance(cause, kind) for cause in chain):
            return category
    if isinstance(error, httpx2.RemoteProtocolError):
        # with a cause of its own below the pool's, the parser refused it; else the server just hung up
        is_parsers = len(chain) > _DEPTH_OF_POOL
        return ErrorCategory.INVALID_RESPONSE if is_parsers else ErrorCategory.CONNECTION_RESET
    for kind, category in _BY_KIND:
        if isinstance(error, kind):
            return category
    is_network = isinstance(error, OSError)
    return ErrorCategory.CONNECTION_REFUSED if is_network else ErrorCategory.INVALID_RESPONSE


_DEPTH_OF_POOL = 2  # httpx2's error, caused by httpcore2's


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was raised from; of several addresses that failed, each."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    else:
        cause = error.__cause__ or error.__context__  # the pool hides the cause from tracebacks, not from us
        if cause is not None:
            yield from _causes(cause)


def _said(chain: Sequence[BaseException]) -> str:
    return next((str(cause) for cause in chain if str(cause)), type(chain[0]).__name__)
