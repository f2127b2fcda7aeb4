"""A pretended process on the core: the parts joined as the assembly joins them, with a way to die.

`assembled` makes one on whatever it is to stand on: the twin or a real database, a cloud in process or behind
a socket. It counts the effects of its bodies and of who asks (writes, calls to the cloud), and may die after
any of them.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

import httpx2
from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.cloud.caches import Caches
from ostler.cloud.catalogue import Catalogue
from ostler.cloud.lane import Lane
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.transport import Transport, TransportConfig
from ostler.cloud.upstream import Endpoint
from ostler.domain.catalogue import BillingMode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.observation import seen
from ostler.domain.readiness import EndpointHealth, ErrorCategory
from ostler.domain.requests import CreateRequest
from ostler.domain.spec import InstanceSpec
from ostler.engine.config import EngineConfig
from ostler.engine.engine import Engine
from ostler.engine.kind import Body, Kind
from ostler.jobs.bodies import Crew, bodies
from ostler.jobs.workshop import Workshop
from ostler.store.database import Database
from ostler.store.events import EventRow, time_line
from ostler.store.idempotency import RequestKey
from ostler.store.instances import InstanceRow, find_instance, rows_in_states
from ostler.store.sealing import FernetSealer
from ostler.store.signals import Signals
from ostler.usecases.asking import Asker
from ostler.usecases.catalogue_memory import CatalogueMemory
from ostler.usecases.create import Accepted, Create, Minting
from ostler.usecases.desk import EngineDesk
from ostler.usecases.details import sight_of
from ostler.usecases.ids import Ids
from ostler.usecases.market import Market
from ostler.usecases.observe import Observation
from ostler.usecases.planning import Planner, Preferences
from ostler.usecases.record import EventSink, Occasion, Recorder
from ostler.usecases.verbs import Verbs
from tests.support.engine import DESIGNED, StopPoint
from tests.support.simulator import API_KEY

T = TypeVar("T")
INSTALL_ID = "testhome"
TEMPLATE = "101"
SOMEBODY = Asker("somebody")
SETTLE = timedelta(seconds=30)
# bells ring and due times are known; a poll would only make the tests slower
QUIET = replace(DESIGNED, shortest_poll=timedelta(seconds=5), longest_poll=timedelta(seconds=15))
LIVING = [state for state in State if state is not State.TERMINATED]


class ScriptedProber:
    """Finds every endpoint healthy, or what the test says; notes how often it was asked."""

    def __init__(self, clock: Clock) -> None:
        self.is_healthy = True
        self.only_at: str | None = None  # a part of the addresses that answer; None: all
        self.rounds = 0
        self._clock = clock

    async def probe(self, endpoints: Sequence[Endpoint], policy: HealthPolicy) -> tuple[EndpointHealth, ...]:
        del policy
        self.rounds += 1
        return tuple(self._health(each) for each in endpoints)

    def _health(self, endpoint: Endpoint) -> EndpointHealth:
        is_there = self.only_at is None or self.only_at in endpoint.address
        is_healthy = self.is_healthy and is_there
        category = None if is_healthy else ErrorCategory.CONNECTION_REFUSED
        at = self._clock.now()
        return EndpointHealth(endpoint.port, endpoint.address, is_healthy, at, 5, error_category=category)


class BodysDatabase:
    """A process's way to the database that counts the effects of bodies and askers, not the engine's.

    When the process is dead nothing of it reaches the rows, the engine's loops neither.
    """

    is_exclusive = True  # so that the next process takes back at once what a dead one held
    stamps = None

    def __init__(self, inner: Database, stop_point: StopPoint) -> None:
        self.inner = inner
        self.stop_point = stop_point
        self.reads = 0

    @property
    def signals(self) -> Signals:
        return self.inner.signals

    async def write(self, work: Callable[[Connection], T]) -> T:
        self.stop_point.check()
        result = await self.inner.write(work)
        if not _is_the_engines_own(asyncio.current_task()):
            self.stop_point.passed()
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        self.stop_point.check()
        self.reads += 1
        return await self.inner.read(work)

    async def close(self) -> None:
        await self.inner.close()


def _is_the_engines_own(task: asyncio.Task[object] | None) -> bool:
    coroutine = None if task is None else task.get_coro()
    return getattr(coroutine, "__qualname__", "").startswith(("Pump", "Keeper", "Leader"))


class StoppingNetwork(httpx2.AsyncBaseTransport):
    """Carries calls to the cloud for a process that may die right after any of them."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, stop_point: StopPoint) -> None:
        self._inner = inner
        self._stop_point = stop_point

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._stop_point.check()
        response = await self._inner.handle_async_request(request)
        self._stop_point.passed()
        return response


@dataclass
class Ostler:
    """One pretended process."""

    database: BodysDatabase
    engine: Engine
    recorder: Recorder
    observation: Observation
    cloud: NovitaCloud
    transport: Transport
    create: Create
    verbs: Verbs
    prober: ScriptedProber
    clock: Clock
    step_s: float
    memory: CatalogueMemory

    async def accept(self, spec: InstanceSpec, key: str | None = None) -> Accepted:
        """Ask for an instance, maybe under an Idempotency-Key."""
        request_key = None if key is None else RequestKey(SOMEBODY.name, "create", key, spec.name)
        return await self.create.accept(CreateRequest(spec), SOMEBODY, request_key)

    async def row(self, instance_id: str) -> InstanceRow:
        """Return a row as it is now."""
        found = await self.database.inner.read(lambda connection: find_instance(connection, instance_id))
        assert found is not None, instance_id
        return found

    async def instance(self, instance_id: str) -> Instance:
        """Return an instance as it is now."""
        return (await self.row(instance_id)).instance

    async def events(self, instance_id: str) -> list[EventRow]:
        """Return an instance's time line."""
        return list(await self.database.inner.read(lambda connection: time_line(connection, instance_id)))

    async def watch(self) -> None:
        """Take in what the cloud lists now, as a watcher's pass would, but judge nothing that is absent."""
        listing = await self.cloud.list_all(lane=Lane.WATCHER)
        shown = {upstream.id: upstream for upstream in listing.upstreams}
        occasion = Occasion(self.clock.now(), "watcher")

        def take_in(connection: Connection) -> None:
            for row in rows_in_states(connection, LIVING):
                upstream = shown.get(row.instance.upstream_id or "")
                if upstream is not None:
                    sight = sight_of(upstream)
                    self.recorder.apply(
                        connection,
                        row.instance.id,
                        lambda now, sight=sight: seen(now, sight, occasion.at),  # type: ignore[misc]
                        occasion,
                    )

        await self.database.write(take_in)

    async def until(self, instance_id: str, state: State, *, within_s: float = 300.0) -> Instance:
        """Let time pass, watching now and then, until an instance is in a state."""
        for _ in range(int(within_s / self.step_s)):
            found = await self.instance(instance_id)
            if found.state is state:
                return found
            await self.clock.sleep(self.step_s)
            await self.watch()
        found = await self.instance(instance_id)
        assert found.state is state, found
        return found

    async def stop(self) -> None:
        """End the process properly."""
        await self.engine.stop()
        try:
            await self.memory.keep()
        except asyncio.CancelledError:
            if not self.database.stop_point.is_dead:  # else it died at its last write
                raise
        await self.transport.aclose()

    async def kill(self) -> None:
        """End the process without a chance to say goodbye: nothing of it reaches the rows or the cloud."""
        self.database.stop_point.after = 0
        running = [run.task for run in self.engine._running._runs.values()]
        for task in (*self.engine._loops, *self.engine._leaders, *running):
            if task is not None:
                task.cancel()
        await self.database.close()
        await self.transport.aclose()


def a_wish(name: str = "demo", product_name: str = "RTX 4090 24GB") -> InstanceSpec:
    """Return what a plain request asks of the pretend cloud."""
    return InstanceSpec(name, product_name, TEMPLATE, billing_mode=BillingMode.ON_DEMAND)


@dataclass(frozen=True)
class Circumstances:
    """What a pretended process stands on."""

    clock: Clock
    database: BodysDatabase
    address: str  # of the cloud
    network: httpx2.AsyncBaseTransport | None  # None: sockets
    figures: EngineConfig
    seed: str  # of its ids
    sinks: tuple[EventSink, ...] = ()
    settle: timedelta = SETTLE
    step_s: float = 2.0  # between two looks of who waits for something


def assembled(on: Circumstances) -> tuple[Ostler, Mapping[Kind, Body]]:
    """Join the parts of a process as the assembly does; return it with its bodies, not started."""
    config = TransportConfig(on.address, SecretStr(API_KEY), timeout_s=10, max_attempts=2, per_minute=0)
    transport = Transport(config, on.clock, network=on.network)
    cloud = NovitaCloud(transport)
    engine = Engine(on.database, on.clock, on.figures)
    ids = Ids(random.Random(on.seed).randbytes)  # noqa: S311 -- a run that can be repeated
    sealer, prober = FernetSealer(SecretStr("a key of the tests")), ScriptedProber(on.clock)
    recorder = Recorder(EngineDesk(engine), on.sinks)
    catalogue = Catalogue(cloud, Caches(), on.clock)
    market = Market(catalogue, on.database, sealer, on.clock)
    planner = Planner(market, on.database, on.clock, Preferences("US-CA-06"))
    verbs = Verbs(on.database, recorder, on.clock, ids)
    observation = Observation(recorder, sealer)
    shop = Workshop(cloud, recorder, observation, on.clock, ids, INSTALL_ID, on.settle)
    process = Ostler(
        database=on.database,
        engine=engine,
        recorder=recorder,
        observation=observation,
        cloud=cloud,
        transport=transport,
        create=Create(on.database, recorder, planner, on.clock, Minting(ids, sealer)),
        verbs=verbs,
        prober=prober,
        clock=on.clock,
        step_s=on.step_s,
        memory=CatalogueMemory(catalogue, on.database, sealer),
    )
    return process, bodies(Crew(shop, planner, catalogue, verbs, prober))
