"""One worker: carries out the work of an installation and listens to nobody, until it is told to stop.

It shares a PostgreSQL database with servers: it takes jobs, may lead the watcher, and delivers webhooks. With
a port it answers there what supervisors and Prometheus ask, and nothing else of the API.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass

from ostler.assembly.connection import allow_most_files
from ostler.assembly.garbage import spare_what_stays
from ostler.assembly.parts import assembled
from ostler.assembly.server import Server, address, listening
from ostler.assembly.stopping import stop_signals
from ostler.assembly.web import vital_signs
from ostler.datadir import DataDirectory
from ostler.settings import Settings


@dataclass(frozen=True, slots=True)
class Working:
    """What a person wants to know once the worker works."""

    url: str | None  # of its health and metrics; None: it listens nowhere
    cloud_url: str


AnnounceWork = Callable[[Working], None]


async def run_worker(settings: Settings, announce: AnnounceWork, port: int | None) -> None:
    """Work until a signal asks to stop."""
    allow_most_files()
    directory = DataDirectory(settings.directory).prepared()
    async with AsyncExitStack() as stack:
        listener = None if port is None else stack.enter_context(listening(settings.host, port, "--port"))
        cloud_url = _cloud_url(settings)
        parts = await stack.enter_async_context(assembled(settings, directory, cloud_url, vital_signs))
        spare_what_stays()
        if listener is None:
            with _listening_for_signals() as told_to_stop:
                announce(Working(None, cloud_url))
                await told_to_stop.wait()
        else:
            working = Working(address(settings.host, listener), cloud_url)
            await Server(parts, settings.drain_s, lambda: announce(working)).serve(sockets=[listener])


def _cloud_url(settings: Settings) -> str:
    """Return the cloud that all share; the simulated one is run by somebody else, who alone has its world."""
    if settings.is_simulated:
        return f"http://127.0.0.1:{settings.simulator_port}"
    return str(settings.novita_api_base_url).rstrip("/")


@contextmanager
def _listening_for_signals() -> Generator[asyncio.Event, None, None]:
    """Give what is set by the first signal; after the block one ends the process as it always does."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    signals = stop_signals()
    for each in signals:
        loop.add_signal_handler(each, told.set)
    try:
        yield told
    finally:
        for each in signals:
            loop.remove_signal_handler(each)
