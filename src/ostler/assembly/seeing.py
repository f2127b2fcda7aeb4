"""How one process is seen from outside: its health, its figures, its traces.

All of it is noted in passing or counted in the background; looking at a process asks nothing of its
database or of the cloud.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from opentelemetry.trace import TracerProvider

from ostler import __version__
from ostler.api.figures import Figures
from ostler.assembly.core import Core, Surroundings
from ostler.assembly.fleet_gauges import watch_rows
from ostler.assembly.gauges import watch_caches, watch_transport, watch_watcher
from ostler.assembly.outward import Outward
from ostler.engine.engine import Engine
from ostler.settings import Settings
from ostler.telemetry.lag import measuring_lag
from ostler.telemetry.redaction import Redactor
from ostler.usecases.health import Health, cloud_finding, work_finding
from ostler.usecases.tally import Tally
from ostler.watch.standing import WatchStanding


@dataclass(frozen=True, slots=True)
class Sight:
    """What is shown."""

    health: Health
    figures: Figures


@asynccontextmanager
async def tracing(settings: Settings, redactor: Redactor) -> AsyncIterator[TracerProvider | None]:
    """Export traces while the block lasts, when a collector is named; send what is left at its end."""
    if settings.otlp_endpoint is None:
        yield None
        return
    from ostler.telemetry.traces import end, tracing_to  # noqa: PLC0415 -- the exporter: 5 MB that few need

    provider = tracing_to(str(settings.otlp_endpoint), redactor, __version__)
    try:
        yield provider
    finally:
        await asyncio.to_thread(end, provider)


@asynccontextmanager
async def seeing(
    core: Core, outward: Outward, standing: WatchStanding, around: Surroundings
) -> AsyncIterator[Sight]:
    """Measure, count and ask while the block lasts."""
    clock, metrics, transport = around.clock, around.metrics, outward.transport
    tally = Tally(core.database, clock)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(tally.counting())
        await stack.enter_async_context(measuring_lag(clock, metrics.record_lag))
        await stack.enter_async_context(core.pulse.asking(core.database))
        watch_transport(metrics, transport)
        watch_caches(metrics, outward.caches)
        watch_watcher(metrics, standing)
        watch_rows(metrics, tally)
        health = Health(
            clock,
            {
                "cloud": lambda: cloud_finding(
                    outward.pulse.finding(), transport.lanes().held_for_s, clock.now()
                ),
                "database": core.pulse.finding,
                "jobs": lambda: work_finding(_idle_s(core.engine), clock.now(), core.pulse.finding()),
                "watcher": standing.finding,
            },
            transport.breakers,
        )
        yield Sight(health, Figures(metrics, tally, transport, outward.caches, standing))


def _idle_s(engine: Engine) -> float | None:
    turned_at = engine.turned_at
    return None if turned_at is None else asyncio.get_running_loop().time() - turned_at
