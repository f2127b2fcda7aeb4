"""The raw *connection* beneath a request: for answers that HTTP has no word for, such as a reset.

uvicorn gives an app no way to its transport, so the protocol is made here with the connection put into the
scope's state. Without one (in process) a reset is the exception that a client would see.
"""

import asyncio
import socket
import struct
from typing import Protocol, cast

from starlette.types import Receive, Scope
from uvicorn.config import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

_KEY = "connection"


class _MakesProtocol(Protocol):
    """How uvicorn makes its protocol, whichever parser it chose."""

    def __call__(
        self,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None,
    ) -> asyncio.Protocol: ...


class Connection:
    """The connection of a client; `protocol` is set as soon as there is one."""

    def __init__(self) -> None:
        self.protocol: asyncio.Protocol | None = None

    def reset(self) -> None:
        """Cut it without a word: unsent bytes are thrown away and the client sees a reset."""
        transport = cast("asyncio.WriteTransport | None", getattr(self.protocol, "transport", None))
        if transport is not None and not transport.is_closing():
            _linger_not(transport)
            transport.abort()


def connected_protocol(
    config: Config,
    server_state: ServerState,
    app_state: dict[str, object],
    _loop: asyncio.AbstractEventLoop | None = None,
) -> asyncio.Protocol:
    """Make uvicorn's protocol for a new client such that apps find the connection; called by uvicorn."""
    connection = Connection()
    state = {**app_state, _KEY: connection}
    make = cast("_MakesProtocol", AutoHTTPProtocol)
    protocol = make(config=config, server_state=server_state, app_state=state, _loop=_loop)
    connection.protocol = protocol
    return protocol


async def hang_up(scope: Scope, receive: Receive) -> None:
    """Reset the connection of a request."""
    connection = cast("dict[str, object]", scope.get("state", {})).get(_KEY)
    if not isinstance(connection, Connection):
        raise ConnectionResetError
    connection.reset()
    await stay_silent(receive)  # until the server has noticed, or it would answer 500


async def stay_silent(receive: Receive) -> None:
    """Say nothing until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _linger_not(transport: asyncio.WriteTransport) -> None:
    sock = transport.get_extra_info("socket")
    if sock is not None:
        # Closed with a linger of zero, TCP sends RST instead of FIN.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
