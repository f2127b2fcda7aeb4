"""A receiver of webhooks on loopback, as a user would run one: it checks signatures and does what it is told.

`receiving()` gives one that listens on a free port. Its answers are scripted; each request is remembered
with the instant and what the official Standard Webhooks library says about its signature.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from standardwebhooks import Webhook, WebhookVerificationError

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def said(self) -> dict[str, object]:
        parsed: object = json.loads(self.body)
        assert isinstance(parsed, dict)
        return parsed

    def is_signed_with(self, secret: str | bytes) -> bool:
        """Ask the official library, as a receiver does."""
        try:
            Webhook(secret).verify(self.body, dict(self.headers))
        except WebhookVerificationError:
            return False
        return True


@dataclass(frozen=True)
class Answer:
    """What the receiver sends back, and how."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    before: Callable[[], Awaitable[object]] | None = None  # waited for, or done, before anything is sent
    stalls: bool = False  # after the head nothing more comes
    resets: bool = False  # the connection is cut instead of an answer
    floods: bool = False  # a body without end


Script = Callable[[Received], Answer]


class Receiver:
    """Listens, remembers, answers by its script."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or (lambda _: Answer())
        self.received: list[Received] = []
        self.flooded = 0  # bytes of endless bodies that were taken
        self.most_at_once = 0
        self._at_once = 0
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def until_received(self, count: int) -> list[Received]:
        """Wait until so many requests have come."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: len(self.received) >= count)
        return self.received

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        received = await _request(reader)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            async with self._changed:
                self.received.append(received)
                self._changed.notify_all()
            return await self._answer(self.script(received), writer)
        finally:
            self._at_once -= 1

    async def _answer(self, answer: Answer, writer: asyncio.StreamWriter) -> bool:
        if answer.before is not None:
            await answer.before()
        if answer.resets:
            writer.transport.abort()
            return False
        has_length = not (answer.stalls or answer.floods)
        length = {"Content-Length": str(len(answer.body))} if has_length else {"Connection": "close"}
        lines = [f"{name}: {value}" for name, value in {**answer.headers, **length}.items()]
        head = "\r\n".join([f"HTTP/1.1 {answer.status} Said", *lines, "", ""])
        writer.write(head.encode() + answer.body)
        await writer.drain()
        if answer.stalls:
            await asyncio.Event().wait()
        while answer.floods:
            writer.write(b"x" * 65_536)
            await writer.drain()
            self.flooded += 65_536
        return has_length


@asynccontextmanager
async def receiving(script: Script | None = None) -> AsyncIterator[Receiver]:
    """Run a receiver for a block."""
    receiver = Receiver(script)
    await receiver.open()
    try:
        yield receiver
    finally:
        await receiver.close()


async def _request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(first.split(" ")[1], headers, body)
