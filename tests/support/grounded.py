"""The core on real ground: a real database, sockets to the pretend cloud, real time in which that hurries.

For the few journeys that must be seen to work outside the twin. `a_real_installation` gives a process maker
and the cloud; every second of ours is twenty of the cloud's.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from ostler.clock import SystemClock
from ostler.simulator.clock import WorldClock, monotonic
from ostler.simulator.cloud import Cloud
from ostler.simulator.durations import Durations
from ostler.simulator.genesis import new_world
from tests.support.databases import opened
from tests.support.engine import QUICK, StopPoint
from tests.support.process import BodysDatabase, Circumstances, Ostler, assembled
from tests.support.simulator import EPOCH, SimulatedCloud

HURRY = 20.0


@dataclass
class RealInstallation:
    """A database's address and a cloud; processes come and go."""

    url: str
    address: str
    simulated: SimulatedCloud
    stack: AsyncExitStack
    settle: timedelta = timedelta(seconds=1)
    processes: list[Ostler] = field(default_factory=list)

    async def process(self) -> Ostler:
        """Open the database and start a process on it."""
        number = len(self.processes) + 1
        database = await self.stack.enter_async_context(opened(self.url))
        process, work = assembled(
            Circumstances(
                clock=SystemClock(),
                database=BodysDatabase(database, StopPoint()),
                address=self.address,
                network=None,
                figures=replace(QUICK, owner=f"process-{number}", seed=number),
                seed=f"real {number}",
                settle=self.settle,
                step_s=0.1,
            )
        )
        self.processes.append(process)
        self.stack.push_async_callback(process.stop)
        await process.engine.start(work)
        return process

    def alive(self) -> list[str]:
        """Return the ids of all upstreams that are billed, or will be."""
        ledger = self.simulated.world.ledger.values()
        return [entry.id for entry in ledger if not entry.removed_at]


@asynccontextmanager
async def a_real_installation(url: str) -> AsyncIterator[RealInstallation]:
    """Set up a hurrying cloud on loopback for a database; stop every process afterwards."""
    world = new_world(EPOCH, durations=Durations(spread=0.0))
    simulated = SimulatedCloud(Cloud(world, WorldClock(monotonic, start=EPOCH, speed=HURRY)))
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(simulated.over_http())
        yield RealInstallation(url, address, simulated, stack)
