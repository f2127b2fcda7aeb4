"""The core on the twin: an installation whose rows and cloud outlive the processes pretended on them.

Everything runs in this event loop and its time: the database in memory, the pretend cloud without a socket,
the engine, the bodies. `Installation.process()` starts a process; one with `dies_after` dies after so many
effects, and the next process finds what it left.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from ostler.engine.kind import Body, Kind
from ostler.simulator.clock import WorldClock
from ostler.simulator.cloud import Cloud as PretendCloud
from ostler.simulator.durations import Durations
from ostler.simulator.genesis import new_world
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.usecases.record import EventSink
from tests.support.cloud import LoopClock
from tests.support.engine import StopPoint
from tests.support.process import (
    INSTALL_ID,
    QUIET,
    SETTLE,
    SOMEBODY,
    BodysDatabase,
    Circumstances,
    Ostler,
    StoppingNetwork,
    a_wish,
    assembled,
)
from tests.support.simulator import BASE_URL, EPOCH, SimulatedCloud

__all__ = ["INSTALL_ID", "SETTLE", "SOMEBODY", "Installation", "Ostler", "a_wish", "an_installation"]


@dataclass
class Installation:
    """The rows and the cloud."""

    clock: LoopClock
    storage: InlineStorage
    simulated: SimulatedCloud
    sinks: tuple[EventSink, ...] = ()
    around: Callable[[Body], Body] = lambda body: body  # what every body is wrapped in
    processes: list[Ostler] = field(default_factory=list)
    seed: int = 1

    async def process(self, dies_after: int | None = None) -> Ostler:
        """Start a process; it may die after so many effects."""
        process, work = self._made()
        await process.engine.start(work)
        process.database.stop_point.count = 0
        process.database.stop_point.after = dies_after
        return process

    def witness(self) -> Ostler:
        """Return a process that does no work: it watches, reads, and asks."""
        return self._made()[0]

    def _made(self) -> tuple[Ostler, Mapping[Kind, Body]]:
        number = len(self.processes) + 1
        stop_point = StopPoint()
        circumstances = Circumstances(
            clock=self.clock,
            database=BodysDatabase(InlineDatabase(self.storage), stop_point),
            address=BASE_URL,
            network=StoppingNetwork(self.simulated.transport(), stop_point),
            figures=replace(QUIET, owner=f"process-{number}", seed=number),
            seed=f"{self.seed} {number}",
            sinks=self.sinks,
        )
        process, work = assembled(circumstances)
        self.processes.append(process)
        return process, {kind: self.around(body) for kind, body in work.items()}

    def ever_billed(self, name: str = "demo") -> list[str]:
        """Return the ids of all upstreams of a name that the cloud ever made."""
        ledger = self.simulated.world.ledger.values()
        return [entry.id for entry in ledger if entry.name.startswith(f"{name}--os-")]

    def alive(self, name: str = "demo") -> list[str]:
        """Return the ids of those that are still billed, or will be."""
        ledger = self.simulated.world.ledger
        return [each for each in self.ever_billed(name) if not ledger[each].removed_at]


@asynccontextmanager
async def an_installation(*sinks: EventSink) -> AsyncIterator[Installation]:
    """Set up an installation on the loop's time, and take it down with all its processes."""
    clock = LoopClock()
    storage = InlineStorage(clock)
    world = new_world(EPOCH, durations=Durations(spread=0.0))
    cloud = PretendCloud(world, WorldClock(asyncio.get_running_loop().time, start=EPOCH, speed=1.0))
    installation = Installation(clock, storage, SimulatedCloud(cloud), sinks)
    try:
        yield installation
    finally:
        for process in installation.processes:
            if not process.database.stop_point.is_dead:
                await process.stop()
        storage.close()
