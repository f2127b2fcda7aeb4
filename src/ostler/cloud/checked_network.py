"""The way to addresses that somebody gave us: a name is looked up once, every address of it is checked, and
the connection goes to a checked address. A name server that answers differently the next time changes
nothing; TLS still verifies the name.

In two forms, for the pool beneath httpx2 and for a client of httpx2 itself. Neither knows a proxy.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Sequence

import httpcore2
import httpx2

from ostler.cloud.lookups import Lookups

ADDRESSES_TRIED = 4  # a name server must not make one attempt take as long as it likes
_PORTS = {"http": 80, "https": 443}


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """For a pool: connects only to addresses that were looked up and checked here."""

    def __init__(self, lookups: Lookups, connect_s: float) -> None:
        self._lookups = lookups
        self._connect_s = connect_s
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, *_: object, **__: object
    ) -> httpcore2.AsyncNetworkStream:
        # what httpcore asks for besides (its own timeout, socket options) is not set by our pool
        *first, last = await _addresses_of(self._lookups, host, port)
        for address in first:
            with contextlib.suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._network.connect_tcp(address, port, self._connect_s)
        return await self._network.connect_tcp(last, port, self._connect_s)


class CheckedTransport(httpx2.AsyncBaseTransport):
    """For a client that asks once and reads: a request goes to a checked address, by its own connection."""

    def __init__(self, lookups: Lookups, most: int, trust: ssl.SSLContext | None = None) -> None:
        self._lookups = lookups
        # a connection that is kept would be known by its address, whatever name it was verified for
        limits = httpx2.Limits(max_connections=most, max_keepalive_connections=0)
        self._inner = httpx2.AsyncHTTPTransport(verify=trust or True, trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request that has no body."""
        host = request.url.host
        port = request.url.port or _PORTS.get(request.url.scheme, 0)
        *first, last = await _addresses_of(self._lookups, host, port)
        for address in first:
            with contextlib.suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._inner.handle_async_request(_sent_to(request, address))
        return await self._inner.handle_async_request(_sent_to(request, last))

    async def aclose(self) -> None:
        """Let go of what is still open."""
        await self._inner.aclose()


async def reached(lookups: Lookups, host: str, port: int) -> None:
    """Connect to a checked address of a host, and hang up; raise what is wrong with the last one."""
    *first, last = await _addresses_of(lookups, host, port)
    for address in first:
        with contextlib.suppress(OSError):
            return await _greeted(address, port)
    return await _greeted(last, port)


async def _greeted(address: str, port: int) -> None:
    _, writer = await asyncio.open_connection(address, port)
    writer.close()


async def _addresses_of(lookups: Lookups, host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host that may be tried, at least one; raise what forbids them."""
    found = await lookups.permitted(host, port)
    return [str(address.ip) for address in found[:ADDRESSES_TRIED]]


def _sent_to(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request as it goes to an address; its Host header and TLS have the name."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
