"""Running the pretend cloud: on its own (`run`), or inside a process that does other things too (`running`).

Binds loopback sockets, opens the state file, and takes it all down again. Signals are caught only by `run`.
"""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from ostler.simulator.clock import WorldClock, monotonic, wall_time
from ostler.simulator.cloud import Cloud
from ostler.simulator.connection import connected_protocol
from ostler.simulator.doors import Doors
from ostler.simulator.doorway import create_doorway
from ostler.simulator.durations import DAY_S, Durations
from ostler.simulator.genesis import new_world, saved_world
from ostler.simulator.listeners import address_of, bound_again, bound_socket, listening
from ostler.simulator.server import create_app
from ostler.simulator.state_file import SavedTime, StateFile
from ostler.simulator.world import World

DEFAULT_PORT = 3100
_PATIENCE_S = 1  # for answers that are under way when it stops


@dataclass(frozen=True, slots=True)
class SimulatorConfig:
    """How to run; a port of 0 is any free one, a speed of 0 the explicit mode.

    Without a speed it is that of the state file, and of real time in a new world.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    state: Path | None = None
    speed: float | None = None
    seed: int = 0
    durations: Durations = Durations(spot_life_s=DAY_S)  # noqa: RUF009 -- frozen


def run(config: SimulatorConfig) -> None:
    """Run until the process is told to stop; prints the address when it answers."""
    uvicorn_config = uvicorn.Config("", loop="auto", log_config=None)
    with asyncio.Runner(loop_factory=uvicorn_config.get_loop_factory()) as runner:
        runner.run(_run(config))


async def _run(config: SimulatorConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with running(config) as address:
        sys.stdout.write(f"The simulated cloud answers at {address}\n")
        sys.stdout.flush()
        await stop.wait()


@asynccontextmanager
async def running(config: SimulatorConfig) -> AsyncIterator[str]:
    """Run in this event loop for as long as the block lasts; yields the base URL."""
    with StateFile(config.state) if config.state else nullcontext() as state_file:
        cloud = open_cloud(config, state_file)
        cloud.catch_up()
        cloud.save()
        try:
            async with serving(cloud, config) as address:
                yield address
        finally:
            cloud.end()


@asynccontextmanager
async def serving(cloud: Cloud, config: SimulatorConfig) -> AsyncIterator[str]:
    """Put a cloud that is there already on sockets; yields the base URL."""
    former = cloud.former_doors()
    async with AsyncExitStack() as stack:
        listeners = await stack.enter_async_context(listening(config.host, former))
        doorway = _serving(create_doorway(cloud), bound_again(config.host, former.http))
        door = await stack.enter_async_context(doorway)
        cloud.open_doors(Doors(door, listeners.tcp, listeners.tls, listeners.refused))
        cloud.save()
        face = _serving(create_app(cloud), bound_socket(config.host, config.port))
        address = await stack.enter_async_context(face)
        yield f"http://{address}"


def open_cloud(config: SimulatorConfig, state_file: StateFile | None) -> Cloud:
    """Return the cloud that the state file holds, or a new one; time went on while nobody ran it."""
    kept = _kept_world(config, state_file) if state_file is not None else None
    now = wall_time()
    if kept is None:
        world, then = new_world(now, seed=config.seed, durations=config.durations), SavedTime(now, now, 1.0)
    else:
        world, then = kept
    speed = then.speed if config.speed is None else config.speed
    return Cloud(world, WorldClock(monotonic, start=then.at(now), speed=speed), state_file)


def _kept_world(config: SimulatorConfig, state_file: StateFile) -> tuple[World, SavedTime] | None:
    """Return the world of a state file, and when it was written; None for a new file."""
    with state_file.reading():
        saved = state_file.time()
        if saved is None:
            return None
        rows = state_file.rows()
        return saved_world(saved.world, rows, seed=config.seed, durations=config.durations), saved


@asynccontextmanager
async def _serving(app: ASGIApp, sock: socket.socket) -> AsyncIterator[str]:
    server_config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", connected_protocol),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    server = uvicorn.Server(server_config)
    server_config.load()
    server.lifespan = server_config.lifespan_class(server_config)
    await server.startup(sockets=[sock])
    try:
        yield address_of(sock)
    finally:
        await server.shutdown(sockets=[sock])
