"""Reading a log that cannot be read: what went wrong is told, the address never."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ostler.clock import SystemClock
from ostler.cloud.log_reader import LogReader, LogWish
from ostler.cloud.lookups import Lookups
from ostler.cloud.reach import Reach
from ostler.cloud.refusals import CloudRefusal, Gone, Unavailable

_SECRET = "token-of-the-address"


@asynccontextmanager
async def answering(reply: bytes) -> AsyncIterator[str]:
    """Serve one raw answer on loopback; give the address of a log there."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/logs?key={_SECRET}"


async def read(address: str) -> bytes:
    reader = LogReader(SystemClock(), Lookups(Reach(allow_loopback=True).policy))
    try:
        return b"".join([piece async for piece in await reader.open(address, LogWish())])
    finally:
        await reader.aclose()


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Gone),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", Unavailable),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", Unavailable),
        (b"not HTTP at all\r\n\r\n", Unavailable),
        (b"", Unavailable),
    ],
)
async def test_what_is_no_log_is_a_refusal_that_hides_the_address(
    reply: bytes, refusal: type[CloudRefusal]
) -> None:
    async with answering(reply) as address:
        with pytest.raises(refusal) as caught:
            await read(address)
    assert _SECRET not in str(caught.value)


@pytest.mark.parametrize("address", [f"http://127.0.0.1:1/{_SECRET}", f"nonsense {_SECRET}", "http://[::1"])
async def test_an_address_that_leads_nowhere_is_a_refusal_that_hides_it(address: str) -> None:
    with pytest.raises(Unavailable) as caught:
        await read(address)
    assert _SECRET not in str(caught.value)


async def test_a_log_that_breaks_off_shows_what_came() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none line\n") as address:
        assert await read(address) == b"one line\n"
