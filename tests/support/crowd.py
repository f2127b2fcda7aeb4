"""A crowd: thousands of clients of one server, each a bare connection that waits for what the server says.

Bare, because the crowd shares the machine with the server: a client library would cost more than what is
measured. A *member* has sent its request; `told` returns when the server has said something more.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

_AT_ONCE = 200  # connections that are being opened
_RECEIVED = 65_536


@dataclass(slots=True)
class Member:
    """One client with its connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str  # of its requests, without the first line
    heard: bytes = b""

    def asks(self, path: str) -> None:
        """Send a request."""
        self.writer.write(f"GET {path} HTTP/1.1\r\n{self.head}\r\n".encode())

    async def told(self, words: bytes) -> float:
        """Read until the server has said something; return when that was, by the loop's time."""
        while words not in self.heard:
            received = await self.reader.read(_RECEIVED)
            if not received:
                raise EOFError(self.heard[-500:])
            self.heard += received
        self.heard = self.heard.partition(words)[2]
        return asyncio.get_running_loop().time()

    async def ended(self) -> float:
        """Read until the server hangs up; return when that was."""
        while received := await self.reader.read(_RECEIVED):
            self.heard += received
        return asyncio.get_running_loop().time()


class Crowd:
    """The clients of one server that show one key; gone when the block ends."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._key = key
        self._opening = asyncio.Semaphore(_AT_ONCE)
        self.members: list[Member] = []

    async def __aenter__(self) -> "Crowd":
        return self

    async def __aexit__(self, *_: object) -> None:
        for member in self.members:
            member.writer.transport.abort()

    async def following(self, count: int) -> list[Member]:
        """Let clients follow the live events; each has had the beginning of its answer."""
        followers = await asyncio.gather(
            *(self.asking("/api/events", "text/event-stream") for _ in range(count))
        )
        await all_told(followers, b"\r\n\r\n")
        return list(followers)

    async def waiting(self, paths: Iterable[str]) -> list[Member]:
        """Let clients ask for what is not yet so; nothing has been answered."""
        return list(await asyncio.gather(*(self.asking(path, "application/json") for path in paths)))

    async def asking(self, path: str, accept: str) -> Member:
        """Let one client connect and send its request."""
        async with self._opening:
            reader, writer = await asyncio.open_connection(*self._address)
        host, port = self._address
        head = f"Host: {host}:{port}\r\nAuthorization: Bearer {self._key}\r\nAccept: {accept}\r\n"
        member = Member(reader, writer, head)
        member.asks(path)
        self.members.append(member)
        return member


async def all_told(members: Iterable[Member], words: bytes) -> list[float]:
    """Return when each of them was told."""
    return list(await asyncio.gather(*(member.told(words) for member in members)))
