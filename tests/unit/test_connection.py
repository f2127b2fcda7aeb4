"""A connection's patience, in virtual time: who is too slow is hung up on, who waits for us is not."""

import asyncio

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from ostler.assembly.connection import BODY_PATIENCE_S, HEAD_PATIENCE_S, Connection

pytestmark = pytest.mark.looptime

HEAD = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"


class Line(asyncio.Transport):
    """The other end of a connection: keeps what is written, and says whether it was hung up on."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


async def answers_slowly(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body, think for an hour, answer."""
    del scope
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(3600)  # noqa: TID251 -- an application's own time, which is virtual here
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@pytest.fixture
def line() -> Line:
    return Line()


def opened(line: Line) -> Connection:
    """Return a connection that has just been made."""
    config = uvicorn.Config(answers_slowly, log_config=None, access_log=False)
    made = Connection(config, ServerState(), {})
    made.connection_made(line)
    return made


async def passes(seconds: float) -> None:
    await asyncio.sleep(seconds)  # noqa: TID251 -- virtual


@pytest.mark.parametrize("said", [b"", b"GET", HEAD], ids=["nothing", "a word", "half a head"])
async def test_a_head_that_does_not_come_is_waited_for_only_so_long(line: Line, said: bytes) -> None:
    connection = opened(line)
    connection.data_received(said)
    await passes(HEAD_PATIENCE_S - 1)
    assert not line.is_closed
    await passes(2)
    assert line.is_closed
    assert line.written.startswith(b"HTTP/1.1 408 ")


async def test_a_word_now_and_then_buys_no_more_time(line: Line) -> None:
    connection = opened(line)
    for letter in HEAD[: int(HEAD_PATIENCE_S) + 5]:
        connection.data_received(bytes([letter]))
        await passes(1)
        if line.is_closed:
            break
    assert line.is_closed


async def test_a_body_that_does_not_come_is_waited_for_only_so_long(line: Line) -> None:
    connection = opened(line)
    connection.data_received(HEAD + b"\r\n1")
    await passes(BODY_PATIENCE_S - 1)
    assert not line.is_closed
    await passes(2)
    assert line.is_closed
    assert line.written.startswith(b"HTTP/1.1 408 ")


async def test_who_has_said_all_may_wait_for_the_answer_as_long_as_it_takes(line: Line) -> None:
    connection = opened(line)
    connection.data_received(HEAD + b"\r\n12")
    await passes(3601)
    assert line.written.startswith(b"HTTP/1.1 204 ")
    assert not line.is_closed
