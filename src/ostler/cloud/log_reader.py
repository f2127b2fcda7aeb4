"""Reads an instance's log from the address at which the cloud serves it: without our key, once, no redirects.

The address comes from a look at the instance and may be a secret in itself: no error tells it. One that leads
inside is not asked. What comes is passed on as it comes, and nothing of it is kept.
"""

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus

import httpx2
from ssrfguard import SSRFGuardError

from ostler.clock import Clock
from ostler.cloud.checked_network import CheckedTransport
from ostler.cloud.lookups import Lookups
from ostler.cloud.refusals import Gone, Unavailable

_OPERATION = "read log"
_MOST_READERS = 100
_CONNECT_S = 5.0
_READ_S = 30.0
_TROUBLE = (OSError, ValueError, httpx2.HTTPError, httpx2.InvalidURL, SSRFGuardError)


@dataclass(frozen=True, slots=True)
class LogWish:
    """How many of the last lines, and whether those to come, too."""

    tail: int = 100
    follow: bool = False


class LogReader:
    """Reads logs over the network. Close it when no more are to be read."""

    def __init__(self, clock: Clock, lookups: Lookups, trust: ssl.SSLContext | None = None) -> None:
        self._clock = clock
        self._client = httpx2.AsyncClient(
            follow_redirects=False,
            trust_env=False,
            headers={"Accept-Encoding": "identity"},
            transport=CheckedTransport(lookups, _MOST_READERS, trust),
        )

    async def open(self, address: str, wish: LogWish) -> AsyncIterator[bytes]:
        """Return what comes from a log, once it has begun to answer; raise Gone or Unavailable."""
        asked_at = self._clock.now()
        timeout = httpx2.Timeout(_CONNECT_S, read=None if wish.follow else _READ_S)
        query = {"follow": str(int(wish.follow)), "sse": "0", "tail": str(wish.tail)}
        try:
            url = httpx2.URL(address).copy_merge_params(query)
            request = self._client.build_request("GET", url, timeout=timeout)
            response = await self._client.send(request, stream=True)
        except _TROUBLE as error:
            raise Unavailable(_OPERATION, type(error).__name__) from error
        if response.status_code == HTTPStatus.OK:
            return _pieces(response)
        await response.aclose()
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise Gone(_OPERATION, "log", asked_at)
        raise Unavailable(_OPERATION, f"HTTP {response.status_code}")

    async def aclose(self) -> None:
        """Let go of what is still open."""
        await self._client.aclose()


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield what comes until it ends, well or not: what was read is passed on by then."""
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx2.HTTPError:
        return
    finally:
        await response.aclose()
