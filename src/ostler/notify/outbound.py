"""Calling receivers: one POST, to an address that was checked, within a time, reading a bounded answer.

The name is resolved once, every address is checked, and the connection goes to the checked address, so that
a name server that answers differently the next time changes nothing; TLS still verifies the host's name.
httpcore2 is the engine beneath httpx2. It is used directly because its way to resolve and connect may be
given openly; it knows no redirects, proxies, cookies or environment.
"""

import asyncio
import base64
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import httpcore2
import httpx2
from ssrfguard import Resolver, SSRFGuardError

from ostler.clock import Clock
from ostler.cloud.checked_network import ADDRESSES_TRIED, CheckedNetwork
from ostler.cloud.lookups import Lookups
from ostler.cloud.reach import Reach
from ostler.cloud.retry_after import seconds_asked

_LONGEST_ANSWER = 64 * 1024
_IDLE_CONNECTIONS = 16
_IDLE_S = 30.0
_HTTP_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    httpcore2.ConnectionNotAvailable,
)


@dataclass(frozen=True, slots=True)
class OutboundConfig:
    """How receivers are called."""

    timeout_s: float = 10.0  # of a whole attempt (WEBHOOK_TIMEOUT)
    reach: Reach = field(default_factory=Reach)
    user_agent: str = "ostler"
    at_once: int = 64


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one attempt: a status, or why there is none."""

    status: int | None
    latency_ms: int
    error: str | None = None  # None: delivered
    retry_after_s: float | None = None

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver has taken it."""
        return self.error is None


class Outbound:
    """Sends. Made and closed inside the event loop that uses it."""

    def __init__(
        self,
        config: OutboundConfig,
        clock: Clock,
        resolver: Resolver = socket.getaddrinfo,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trust or httpx2.create_ssl_context(trust_env=False),
            max_connections=config.at_once,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_S,
            network_backend=CheckedNetwork(
                Lookups(config.reach.policy, resolver), config.timeout_s / ADDRESSES_TRIED
            ),
        )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one webhook; whatever happens is told by the reply."""
        attempt = _Attempt(self._clock.monotonic())
        error: str | None = None
        try:
            async with asyncio.timeout(self._config.timeout_s):
                await self._exchange(url, headers, body, attempt)
        except TimeoutError:
            # a receiver that answered, and then went on talking, has taken it all the same
            error = None if attempt.status else f"no answer within {self._config.timeout_s:g} s"
        except (*_HTTP_FAILURES, OSError, SSRFGuardError, ValueError, httpx2.InvalidURL) as failure:
            error = None if attempt.status else _said(failure)
        latency_ms = round((self._clock.monotonic() - attempt.began) * 1000)
        return Reply(attempt.status, latency_ms, error or _refusal(attempt.status), attempt.retry_after_s)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def _exchange(self, url: str, headers: Mapping[str, str], body: bytes, attempt: "_Attempt") -> None:
        sent = {"User-Agent": self._config.user_agent, **headers, **_credentials(url)}
        async with self._pool.stream("POST", _address(url), headers=list(_raw(sent)), content=body) as answer:
            attempt.status = answer.status
            attempt.retry_after_s = seconds_asked(_header(answer, b"retry-after"), self._clock.now())
            seen = 0
            async for part in answer.aiter_stream():
                seen += len(part)
                if seen > _LONGEST_ANSWER:  # leaving the block closes the connection
                    return


@dataclass(slots=True)
class _Attempt:
    began: float
    status: int | None = None
    retry_after_s: float | None = None


def _address(url: str) -> httpcore2.URL:
    parsed = httpx2.URL(url)
    return httpcore2.URL(
        scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path
    )


def _credentials(url: str) -> Mapping[str, str]:
    """Return what a `user:password@` in the URL asks for."""
    parts = urlsplit(url)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _raw(headers: Mapping[str, str]) -> Iterable[tuple[bytes, bytes]]:
    return ((name.encode(), value.encode()) for name, value in headers.items())


def _header(answer: httpcore2.Response, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in answer.headers if key.lower() == name), None)


def _refusal(status: int | None) -> str | None:
    if status is None or 200 <= status < 300:  # noqa: PLR2004 -- the class of success
        return None
    return f"HTTP {status}: redirects are not followed" if 300 <= status < 400 else f"HTTP {status}"  # noqa: PLR2004


def _said(failure: Exception) -> str:
    """Return one line about a failure for people."""
    cause = failure.__cause__ or failure.__context__
    text = str(failure) or (str(cause) if cause else "")
    kind = {
        httpcore2.ConnectError: "no connection",
        httpcore2.ReadError: "the connection broke",
        httpcore2.RemoteProtocolError: "no HTTP answer",
    }.get(type(failure), type(failure).__name__)
    match failure:
        case SSRFGuardError():
            return f"refused: {text}"
        case socket.gaierror():
            return f"the name cannot be resolved: {failure.strerror}"
        case _:
            return f"{kind}: {text}" if text else kind
