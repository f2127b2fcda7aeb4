"""One connection of the server: uvicorn's, with bounds on what it may cost to be sent a request.

Below the application, where a head of any size would be kept, a client that never ends its sentence be waited
for, and the last file descriptor be given to a stranger. Who is refused here has not been heard: the answer
has our envelope, and the connection is closed.
"""

import asyncio
import resource
import secrets
import socket
import sys
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from ostler.api.problems import Problem, problem_response
from ostler.clock import SystemClock

MOST_HEAD_BYTES = 65_536
HEAD_PATIENCE_S = 20.0
BODY_PATIENCE_S = 60.0
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # a silent end is let go after 90 s

_MALFORMED = Problem(
    HTTPStatus.BAD_REQUEST, "MALFORMED_REQUEST", "This is not HTTP as Ostler understands it."
)
_TOO_LARGE = Problem(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "HEADERS_TOO_LARGE",
    f"The address and the headers have more than the {MOST_HEAD_BYTES} bytes that are allowed.",
    {"maxBytes": MOST_HEAD_BYTES},
)
_TOO_SLOW = Problem(HTTPStatus.REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "The request did not arrive in time.")


_TOO_MANY = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "TOO_MANY_CONNECTIONS",
    "Ostler has as many connections as this machine lets it have.",
    headers={"Retry-After": "5"},
)
_KEPT_FILES = 200  # for the database, the cloud, webhooks, probes


def allow_most_files() -> None:
    """Let this process open as many files as it may be allowed: every client that waits is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    """Return how many connections may be open at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else max(soft - _KEPT_FILES, 1)


class HeadTooLargeError(ValueError):
    """Stops the parser."""


class Connection(HttpToolsProtocol):
    """See the module."""

    _head_bytes = 0
    _is_in_head = True
    _patience: asyncio.TimerHandle | None = None
    _refusal = _MALFORMED

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        _ask_after(transport.get_extra_info("socket"))
        if len(self.connections) > most_connections():
            self._refuse(_TOO_MANY)
        else:
            self._be_patient(HEAD_PATIENCE_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._be_content()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse(_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head, self._head_bytes = True, 0
        if self._patience is None:
            self._be_patient(HEAD_PATIENCE_S)

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MOST_HEAD_BYTES:
            self._refusal = _TOO_LARGE
            raise HeadTooLargeError
        self._is_in_head = False
        self._be_patient(BODY_PATIENCE_S)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._be_content()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        del msg  # the parser's words
        self._refuse(self._refusal)

    def _be_patient(self, seconds: float) -> None:
        self._be_content()
        self._patience = self.loop.call_later(seconds, self._lose_patience)

    def _be_content(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self._refuse(_TOO_SLOW)

    def _refuse(self, problem: Problem) -> None:
        """Answer, unless an answer has begun, and hang up."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            answer = problem_response(problem, f"req_{secrets.token_hex(8)}", SystemClock().now())
            head = b"".join(b"%s: %s\r\n" % header for header in answer.raw_headers)
            body = bytes(answer.body)
            self.transport.write(STATUS_LINE[problem.status] + head + b"connection: close\r\n\r\n" + body)
        self._be_content()
        self.transport.close()


def _ask_after(line: socket.socket | None) -> None:
    """Have the system ask whether the other end is still there: who only listens may vanish in silence."""
    if line is None:
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, figure in _KEEPALIVE.items():
        if hasattr(socket, name):  # not every system lets us choose
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), figure)
