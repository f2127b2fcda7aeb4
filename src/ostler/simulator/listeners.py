"""The plain sockets on loopback behind the instances' other addresses.

One accepts for all TCP ports and SSH, one fails every TLS handshake, and one is held without listening, so
that connecting to it is refused.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from ostler.simulator.doors import Doors

SSH_BANNER = b"SSH-2.0-OpenSSH_9.6 simulated\r\n"
TLS_HANDSHAKE_FAILURE = bytes([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x28])  # a fatal alert
_Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Listeners:
    """The addresses (`host:port`) of the sockets."""

    tcp: str
    tls: str
    refused: str


@asynccontextmanager
async def listening(host: str, former: Doors) -> AsyncIterator[Listeners]:
    """Hold the sockets open, where they were before if that is still free."""
    async with AsyncExitStack() as stack:
        tcp = await stack.enter_async_context(_server(bound_again(host, former.tcp), _play_shell))
        tls = await stack.enter_async_context(_server(bound_again(host, former.tls), _play_broken_tls))
        # not to be shared with anybody, who might listen
        held = stack.enter_context(bound_again(host, former.refused, share=False))
        yield Listeners(tcp=tcp, tls=tls, refused=address_of(held))


def bound_again(host: str, former: str, *, share: bool = True) -> socket.socket:
    """Return a socket bound to the port of a former address (`host:port`), or to any if that is taken."""
    if former:
        with suppress(OSError):
            return bound_socket(host, int(former.rpartition(":")[2]), share=share)
    return bound_socket(host, 0, share=share)


def bound_socket(host: str, port: int, *, share: bool = True) -> socket.socket:
    """Return a socket bound to a port; shared with connections that an earlier process has left behind."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named; with it on, answers wait 40 ms
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(share))
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def address_of(sock: socket.socket) -> str:
    """Return a socket's address as `host:port`."""
    host, port = sock.getsockname()[:2]
    return f"{host}:{port}"


@asynccontextmanager
async def _server(sock: socket.socket, play: _Play) -> AsyncIterator[str]:
    open_writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_writers.add(writer)
        with suppress(ConnectionError):
            await play(reader, writer)
        open_writers.discard(writer)
        writer.close()

    server = await asyncio.start_server(serve, sock=sock)
    try:
        yield address_of(sock)
    finally:
        server.close()
        for writer in open_writers:
            writer.close()
        await server.wait_closed()


async def _play_shell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SSH_BANNER)
    await writer.drain()
    while await reader.read(4096):
        pass


async def _play_broken_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(4096)
    writer.write(TLS_HANDSHAKE_FAILURE)
    await writer.drain()
