"""A watcher on the twin: a process of `core.py`, and one who watches for it, pass by pass or by itself.

`a_watch` gives a `Watch` whose passes a test makes one at a time; `led` lets a real watcher lead for a block.
"""

import asyncio
import contextlib
import itertools
import math
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import SecretStr
from sqlalchemy import Connection, event

from ostler.cloud.provider import Cloud
from ostler.cloud.upstream import CreateOrder
from ostler.domain.catalogue import BillingMode, Port, Protocol
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name
from ostler.engine.leader import Leader, LeaderBody, Term
from ostler.simulator.keys import DEFAULT_ACCOUNT
from ostler.simulator.world import INSTANCES
from ostler.store.database import Database
from ostler.store.events import EventFilter, EventRow, read_events
from ostler.store.inline import InlineStorage
from ostler.store.leases import acquire
from ostler.store.sealing import FernetSealer
from ostler.store.sightings import Sighting, all_sightings
from ostler.store.watch_state import PassFacts, WatchState, read_watch_state
from ostler.usecases.ids import Ids
from ostler.usecases.orphans import Adoption
from ostler.usecases.removal import Removal
from ostler.watch.absence import Absences
from ostler.watch.account import Account
from ostler.watch.passes import Passes
from ostler.watch.startups import Startups
from ostler.watch.tower import Tower, WatchConfig, key_digest
from tests.support.core import INSTALL_ID, SETTLE, Installation, Ostler, a_wish, an_installation
from tests.support.engine import DESIGNED
from tests.support.simulator import API_KEY

DIGEST = key_digest(SecretStr(API_KEY))
CONFIG = WatchConfig(INSTALL_ID, DIGEST, settle=SETTLE)
SEALER = FernetSealer(SecretStr("a key of the tests"))


def a_tower(process: Ostler, config: WatchConfig = CONFIG, cloud: Cloud | None = None) -> Tower:
    """Return the tools of a watcher in a process."""
    ids = Ids(random.Random("watcher").randbytes)  # noqa: S311 -- a run that can be repeated
    return Tower(
        database=process.database,
        cloud=cloud or process.cloud,
        recorder=process.recorder,
        observation=process.observation,
        adoption=Adoption(process.recorder, SEALER, ids),
        removal=Removal(process.engine),
        verbs=process.verbs,
        clock=process.clock,
        config=config,
    )


@dataclass
class Watch:
    """One term of watching, by hand."""

    home: Installation
    process: Ostler
    tower: Tower
    account: Account
    term: Term
    passes: Passes
    absences: Absences

    async def look(self) -> PassFacts:
        """Make one pass."""
        state = await self.term.write(
            lambda connection: self.account.examine(connection, self.tower.clock.now())
        )
        return await self.passes.make(self.term, state)

    async def looks(self, seconds: float, every: float = 3.0) -> None:
        """Make passes for a while."""
        for _ in range(math.ceil(seconds / every)):
            await self.tower.clock.sleep(every)
            await self.look()

    async def state(self) -> WatchState:
        """Return what the watcher knows."""
        return await self.tower.database.read(read_watch_state)

    async def sightings(self) -> Sequence[Sighting]:
        """Return what was put down."""
        return await self.tower.database.read(all_sightings)

    async def told(self, name: PublicEvent) -> list[EventRow]:
        """Return the events of a name, of whatever they are about."""
        wanted = EventFilter(names=[name], limit=1000)
        return list(await self.tower.database.read(lambda connection: read_events(connection, wanted)))

    async def running(self, count: int = 1) -> list[Instance]:
        """Return new instances that run, and were seen running."""
        names = [f"demo{number}" for number in range(count)]
        accepted = [await self.process.accept(a_wish(name)) for name in names]
        for _ in range(30):
            await self.looks(10, every=10)
            found = [await self.process.instance(each.instance_id) for each in accepted]
            if {each.state for each in found} == {State.RUNNING}:
                return found
        raise AssertionError(names)

    async def make_upstream(self, instance_id: str, attempt: int, install_id: str = INSTALL_ID) -> str:
        """Let the cloud have an upstream that carries a mark, whoever made it."""
        name = marked_name("demo", Mark(install_id, instance_id, attempt))
        return await self.tower.cloud.create(an_order(name))

    def lose(self, *instances: Instance) -> None:
        """Let the cloud not know upstreams any more, without anybody's delete."""
        world = self.home.simulated.world
        for instance in instances:
            upstream = world.instances[instance.upstream_id or ""]
            world.fleet(upstream.account).remove(upstream)
            upstream.account = "nobody"

    def find(self, *instances: Instance) -> None:
        """Let the cloud know again what it had lost."""
        world = self.home.simulated.world
        for instance in instances:
            upstream = world.instances[instance.upstream_id or ""]
            upstream.account = DEFAULT_ACCOUNT
            world.fleet(upstream.account).add(upstream)

    def hide(self, instance: Instance) -> None:
        """Let lists not show an upstream for a long time; a GET does."""
        world = self.home.simulated.world
        with world.lag.at_least(100_000):
            world.hold_back(INSTANCES, instance.upstream_id or "", None)

    async def states(self, instances: Sequence[Instance]) -> list[State]:
        """Return the states of instances as they are now."""
        return [(await self.process.instance(each.id)).state for each in instances]

    def effects(self) -> int:
        """Return how often the rows or the cloud were reached by what is no engine's own."""
        return self.process.database.stop_point.count

    def count_writes(self) -> "Writes":
        """Count the rows that are written from now on, to each table."""
        return Writes(self.home.storage)


_numbers = itertools.count()
_THE_ENGINES_OWN = frozenset({"jobs", "leases"})


class Writes:
    """Notes which tables are written; those that the engine writes by itself do not count."""

    def __init__(self, storage: InlineStorage) -> None:
        self.tables: list[str] = []
        self._connection = storage.link.connection
        event.listen(self._connection, "before_cursor_execute", self._hear)

    def stop(self) -> list[str]:
        """Count no more; return what was written."""
        event.remove(self._connection, "before_cursor_execute", self._hear)
        return [table for table in self.tables if table not in _THE_ENGINES_OWN]

    def _hear(self, *words: object) -> None:
        statement = str(words[2]).split()
        match statement:
            case ["INSERT", "INTO", table, *_] | ["UPDATE", table, *_] | ["DELETE", "FROM", table, *_]:
                self.tables.append(table.strip('"'))
            case _:
                pass


@asynccontextmanager
async def a_watch(config: WatchConfig = CONFIG) -> AsyncIterator[Watch]:
    """Set up an installation with one process, and the one who watches for it."""
    async with an_installation() as home:
        yield await watch_by(home, await home.process(), config)


async def watch_by(
    home: Installation, process: Ostler, config: WatchConfig = CONFIG, cloud: Cloud | None = None
) -> Watch:
    """Begin to watch in a process, with nothing remembered."""
    tower = a_tower(process, config, cloud)
    account = Account(process.recorder, config.key_digest)
    absences = Absences()
    term = await a_term(process.database, tower)
    return Watch(
        home=home,
        process=process,
        tower=tower,
        account=account,
        term=term,
        passes=Passes(tower, account, absences, Startups(tower)),
        absences=absences,
    )


async def a_term(database: Database, tower: Tower) -> Term:
    """Take a lead that nobody else has."""

    def take(connection: Connection) -> Term:
        held = acquire(connection, f"watcher {next(_numbers)}", "test", timedelta(hours=10))
        assert held is not None
        return Term(held, database, tower.clock, math.inf)

    return await database.write(take)


@asynccontextmanager
async def led(process: Ostler, body: LeaderBody) -> AsyncIterator[None]:
    """Let a process lead with a body, for a block."""
    config = replace(DESIGNED, owner=f"leader-{id(process)}")
    leader = Leader("watcher", process.database, process.clock, config)
    task = asyncio.create_task(leader.run(body))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def an_order(name: str) -> CreateOrder:
    """Return an order that the default market can fill."""
    return CreateOrder(
        name=name,
        product_id="4090.16c62g",
        region_id="us-ca-6",
        gpus=1,
        rootfs_gb=60,
        image="novitalabs/ubuntu:22.04",
        billing_mode=BillingMode.ON_DEMAND,
        ports=(Port(8080, Protocol.HTTP),),
    )
