"""One process of Ostler: takes its port, starts the simulated cloud if need be, serves until told to stop.

A stop (SIGTERM, SIGINT, SIGHUP) is graceful and exits with 0; a second Ctrl-C is immediate.
"""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from ostler.assembly.connection import Connection, allow_most_files
from ostler.assembly.garbage import spare_what_stays
from ostler.assembly.parts import Parts, assembled
from ostler.assembly.stopping import stop_signals
from ostler.clock import SystemClock
from ostler.datadir import DataDirectory
from ostler.settings import Settings

_GRACE_S = 3  # for answers under way; the work has 4 s more, webhooks 1 s: within the 10 s of a stop
_TICK_S = 0.1


class StartError(Exception):
    """The server cannot start; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a person wants to know once the server listens."""

    url: str
    login_url: str
    key_file: Path | None
    cloud_url: str
    is_simulated: bool


Announce = Callable[[Started], None]


async def run_server(settings: Settings, announce: Announce) -> None:
    """Serve until a signal asks to stop."""
    allow_most_files()
    directory = DataDirectory(settings.directory).prepared()
    listener = listening(settings.host, settings.port)
    async with AsyncExitStack() as stack:
        stack.callback(listener.close)
        cloud_url = str(settings.novita_api_base_url).rstrip("/")
        if settings.is_simulated:
            cloud_url = await _simulated_cloud(settings, directory, stack)
        parts = await stack.enter_async_context(assembled(settings, directory, cloud_url))
        spare_what_stays()
        server = Server(
            parts, settings.drain_s, lambda: announce(_started(settings, parts, listener, cloud_url))
        )
        await server.serve(sockets=[listener])


async def _simulated_cloud(settings: Settings, directory: DataDirectory, stack: AsyncExitStack) -> str:
    """Run the pretend cloud in this process; it keeps its state beside our database, as a cloud would."""
    from ostler.simulator.running import SimulatorConfig, running  # noqa: PLC0415 -- 3 MB; a real cloud needs none
    from ostler.simulator.state_file import StateFileUnusable  # noqa: PLC0415 -- the same

    config = SimulatorConfig(
        port=settings.simulator_port,
        speed=settings.simulator_speed,
        state=directory.path / "simulator.state",
    )
    try:
        return await stack.enter_async_context(running(config))
    except StateFileUnusable as error:
        hint = "stop the other Ostler, or set OSTLER_DATA_DIR to another directory"
        message = f"{error}; {hint}"
        raise StartError(message) from error
    except OSError as error:
        hint = "set OSTLER_SIMULATOR_PORT to another one"
        message = f"cannot start the simulated cloud on port {config.port}: {error.strerror}; {hint}"
        raise StartError(message) from error


class Server(uvicorn.Server):
    """uvicorn, announcing itself once it listens, and taking a signal as a wish and not as its end."""

    def __init__(self, parts: Parts, drain_s: float, on_start: Callable[[], None]) -> None:
        config = uvicorn.Config(
            parts.app,
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        super().__init__(config)
        self._parts = parts
        self._on_start = on_start
        self._drain_s = drain_s
        self._clock = SystemClock()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._parts.health.stop()
        await self._drain()
        self._parts.let_go()
        await super().shutdown(sockets)

    async def _drain(self) -> None:
        """Go on answering for a while, with a health that sends load balancers elsewhere."""
        for _ in range(round(self._drain_s / _TICK_S)):
            if self.force_exit:
                return
            await self._clock.sleep(_TICK_S)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        # unlike uvicorn's own, this does not raise the signal again afterwards: a graceful stop exits with 0
        loop = asyncio.get_running_loop()
        signals = stop_signals()
        for each in signals:
            loop.add_signal_handler(each, self.handle_exit, each, None)
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)


def listening(host: str, port: int, option: str = "PORT") -> socket.socket:
    """Return a socket that is bound there; raise StartError, which names the option to change."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        message = f"cannot listen on HOST={host}: {error.strerror}"
        raise StartError(message) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        hint = f"is Ostler running already? Or set {option} (or HOST) to another one"
        message = f"cannot listen on {host}:{port}: {error.strerror}; {hint}"
        raise StartError(message) from error
    listener.set_inheritable(True)
    return listener


def address(host: str, listener: socket.socket) -> str:
    """Return where a listener is found under the name of its host."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def _started(settings: Settings, parts: Parts, listener: socket.socket, cloud_url: str) -> Started:
    url = str(settings.public_url).rstrip("/") if settings.public_url else address(settings.host, listener)
    return Started(
        url=url,
        login_url=f"{url}/login?token={parts.links.issue()}",
        key_file=parts.key_file,
        cloud_url=cloud_url,
        is_simulated=settings.is_simulated,
    )
