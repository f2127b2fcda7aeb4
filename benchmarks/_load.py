"""A load generator that costs little: connections of asyncio's own, each sending one request after the other.

It writes bytes that were made before and looks for the end of an answer, no more: that takes some 20 µs a
request, so that it measures the server and not itself. Every answer must have the status that is expected.
"""

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import uvloop

MakeRequest = Callable[[int], bytes]
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent: how often in all, by how many clients at once, and which answer is right."""

    clients: int
    requests: int
    make: MakeRequest
    status: int = 200


@dataclass(frozen=True, slots=True)
class Round:
    """What was seen."""

    latencies_ms: list[float]
    seconds: float

    @property
    def per_second(self) -> float:
        """How many were answered in a second."""
        return len(self.latencies_ms) / self.seconds

    @property
    def p50_ms(self) -> float:
        """Half were quicker."""
        return statistics.median(self.latencies_ms)

    @property
    def p99_ms(self) -> float:
        """One in a hundred was slower."""
        return sorted(self.latencies_ms)[int(len(self.latencies_ms) * 0.99)]


def request(method: str, path: str, key: str = "", body: bytes = b"") -> bytes:
    """Return a request as it goes over the wire."""
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if key:
        head.append(f"Authorization: Bearer {key}")
    if body:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + body


def play(address: str, load: Load) -> Round:
    """Send a load and wait for the last answer."""
    return uvloop.run(_play(address, load))


@dataclass(slots=True)
class _Score:
    """What all clients share."""

    load: Load
    done: asyncio.Future[None]
    sent: int = 0
    latencies_ms: list[float] = field(default_factory=list)


class _Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, score: _Score) -> None:
        self._score = score
        self._transport: asyncio.WriteTransport | None = None
        self._received = bytearray()
        self._whole = 0  # how long the answer is, once its head is there
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's own has no such parent

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._score.done.done():
            self._score.done.set_exception(exc or ConnectionError("the server hung up"))

    def send(self) -> None:
        """Send the next request, if any is left."""
        score = self._score
        assert self._transport is not None
        if score.sent == score.load.requests:
            return
        content = score.load.make(score.sent)
        score.sent += 1
        self._began = time.perf_counter()
        self._transport.write(content)

    def hang_up(self) -> None:
        """Be done."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        if not self._whole:
            end = received.find(_HEAD_END)
            if end < 0:
                return
            self._whole = end + len(_HEAD_END) + _content_length(bytes(received[:end]))
        if len(received) >= self._whole:
            self._take()

    def _take(self) -> None:
        score = self._score
        score.latencies_ms.append((time.perf_counter() - self._began) * 1000)
        if int(self._received[9:12]) != score.load.status:
            if not score.done.done():
                score.done.set_exception(AssertionError(bytes(self._received[:2000]).decode()))
            return
        self._received.clear()
        self._whole = 0
        if len(score.latencies_ms) == score.load.requests:
            score.done.set_result(None)
        else:
            self.send()


def _content_length(head: bytes) -> int:
    at = head.lower().find(_LENGTH)
    assert at >= 0, head
    return int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])


async def _play(address: str, load: Load) -> Round:
    loop = asyncio.get_running_loop()
    score = _Score(load, loop.create_future())
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or 0
    clients = []
    for _ in range(load.clients):
        _, client = await loop.create_connection(lambda: _Client(score), host, port)
        clients.append(client)
    began = time.perf_counter()
    for client in clients:
        client.send()
    await score.done
    seconds = time.perf_counter() - began
    for client in clients:
        client.hang_up()
    return Round(score.latencies_ms, seconds)
