"""The *world* of the pretend cloud: everything that exists in it, at one instant of its clock. No I/O.

Things live in *kinds*: `world.rows(KIND)` is a dictionary of plain dataclasses by id. Whoever changes one
calls `world.touch(KIND, id)` (or `put`, `drop`), which marks it for the state file and schedules what is
due for it. `advance` lets time pass: it visits due things in the order of their instants and hands each to
its kind's `on_due`. An instance's verbs are in `lifecycle.py` and `creation.py`, its jobs in `job.py`.
"""

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from pydantic import TypeAdapter

from ostler.simulator.app import AppScript
from ostler.simulator.durations import Durations
from ostler.simulator.fate import Fate
from ostler.simulator.fleet import Fleet
from ostler.simulator.ids import draw_id
from ostler.simulator.instance import Instance
from ostler.simulator.lag import Lag
from ostler.simulator.market import Cluster, Product, Shelf
from ostler.simulator.money import LedgerEntry, Wallet
from ostler.simulator.order import Order

if TYPE_CHECKING:
    from collections import deque

    from ostler.simulator.doors import Doors

SLOTS_PER_NODE = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A family of things: its name in the state file, its dataclass, and how time acts on it.

    `due` tells the next instant at which time alone changes a thing; `on_due` is called at that instant with
    `world.now` set to it, and must change the thing so that it is due later or never.
    """

    name: str
    holds: type[T]
    due: Callable[[T], float | None] | None = None
    on_due: Callable[["World", T], None] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A row for the state file; without a body the thing was dropped."""

    kind: str
    id: str
    body: bytes | None


# Looks at an order before it is accepted: refuses it, or returns it with more filled in (an address, say).
Screen = Callable[["World", Order], Order]


class World:
    """One cloud; it only keeps things and time, and what may change is decided by the functions around it."""

    def __init__(self, now: float, *, seed: int = 0, durations: Durations | None = None) -> None:
        self.now = now
        self.seed = seed
        self.random = random.Random(f"{seed}:{now}")  # noqa: S311 -- a pretend cloud's dice, no secrets
        self.durations = durations or Durations()
        self.lag = Lag()
        self.default_app = AppScript()  # what the applications of new instances answer
        self.fates: dict[str, deque[Fate]] = {}  # verb (or "create") → what befalls the next ones
        self.doors: Doors | None = None  # where instances are reached; None: under the vendor's names
        self.screens: list[Screen] = []
        self.fleets: dict[str, Fleet] = {}  # by account
        self.last_number = 0  # of an instance
        self._rows: dict[str, dict[str, object]] = {}
        self._kinds: dict[str, Kind[object]] = {}
        self._asleep: dict[str, dict[str, bytes]] = {}  # from the state file, its kind not yet claimed
        self._dirty: dict[tuple[str, str], None] = {}  # in the order in which they first changed
        self._queue: list[tuple[float, int, str, str]] = []
        self._queued: dict[tuple[str, str], float] = {}
        self._turns = itertools.count()
        self._adapters: dict[str, TypeAdapter[object]] = {}

    # -- what is in it ---------------------------------------------------------------------------------------

    @property
    def instances(self) -> dict[str, Instance]:
        """Every instance that is not gone, of all accounts."""
        return self.rows(INSTANCES)

    @property
    def clusters(self) -> dict[str, Cluster]:
        """The data centres by id."""
        return self.rows(CLUSTERS)

    @property
    def products(self) -> dict[str, Product]:
        """The machines sold, GPU and CPU, by id."""
        return self.rows(PRODUCTS)

    @property
    def shelves(self) -> dict[str, Shelf]:
        """What is left, by `shelf_id`."""
        return self.rows(SHELVES)

    @property
    def ledger(self) -> dict[str, LedgerEntry]:
        """Every instance ever billed, by id."""
        return self.rows(LEDGER)

    @property
    def wallets(self) -> dict[str, Wallet]:
        """The money of every account that was seen."""
        return self.rows(WALLETS)

    def wallet(self, account: str) -> Wallet:
        """Return the account's wallet; an account begins when it is first seen."""
        if account not in self.wallets:
            self.put(WALLETS, account, Wallet(account=account, settled_at=self.now))
        return self.wallets[account]

    def fleet(self, account: str) -> Fleet:
        """Return an account's instances, oldest first."""
        if account not in self.fleets:
            self.fleets[account] = Fleet()
        return self.fleets[account]

    def new_id(self, kind: str) -> str:
        """Return an id that nothing of the kind has or (for instances) ever had."""
        while True:
            candidate = draw_id(self.random, kind)
            if candidate not in self._rows.get(kind, {}) and candidate not in self.ledger:
                return candidate

    def next_number(self) -> int:
        """Return the number of the next instance."""
        self.last_number += 1
        return self.last_number

    def next_fate(self, verb: str) -> Fate | None:
        """Take what is to befall the next instance of which this is asked."""
        waiting = self.fates.get(verb)
        return waiting.popleft() if waiting else None

    def some_gpus(self, count: int) -> tuple[int, ...]:
        """Return the slots that an instance gets on its node; it keeps them in memory while it is stopped."""
        return tuple(sorted(self.random.sample(range(SLOTS_PER_NODE), count)))

    def cache_image(self, cluster_id: str, image_url: str) -> None:
        """Remember that a cluster has pulled an image."""
        cluster = self.clusters[cluster_id]
        if image_url not in cluster.cached_images:
            cluster.cached_images.add(image_url)
            self.touch(CLUSTERS, cluster_id)

    # -- kinds and rows --------------------------------------------------------------------------------------

    def rows(self, kind: Kind[T]) -> dict[str, T]:
        """Return the things of a kind by id; the first call makes the kind known and wakes what was saved."""
        if kind.name not in self._rows:
            self._claim(cast("Kind[object]", kind))
        return cast("dict[str, T]", self._rows[kind.name])

    def put(self, kind: Kind[T], key: str, thing: T) -> T:
        """Add a thing, or replace one."""
        self.rows(kind)[key] = thing
        self.touch(kind, key)
        return thing

    def touch(self, kind: Kind[T], key: str) -> None:
        """Say that a thing changed: it will be saved, and visited when it is due."""
        self._dirty[kind.name, key] = None
        self._schedule(cast("Kind[object]", kind), key)

    def drop(self, kind: Kind[T], key: str) -> None:
        """Remove a thing for good."""
        self.rows(kind).pop(key, None)
        self._queued.pop((kind.name, key), None)
        self._dirty[kind.name, key] = None

    def hold_back(self, kind: Kind[T], key: str, former: T | None) -> None:
        """Let lists go on showing what a thing was before a change, or nothing, for as long as they lag."""
        self.lag.note(kind.name, key, former, self.now)

    def formers(self, kind: Kind[T]) -> dict[str, T | None]:
        """Return what lists show instead of some things of a kind; None: they do not show it."""
        return cast("dict[str, T | None]", self.lag.formers(kind.name, self.now))

    def govern(self, kind: Kind[T], on_due: Callable[["World", T], None]) -> None:
        """Say what time does to things of a kind, where the kind itself could not name it."""
        self.rows(kind)
        self._kinds[kind.name] = cast("Kind[object]", replace(kind, on_due=on_due))

    def _claim(self, kind: Kind[object]) -> None:
        self._kinds[kind.name] = kind
        rows = self._rows[kind.name] = {}
        asleep = self._asleep.pop(kind.name, {})
        if not asleep:
            return
        adapter = self._adapter(kind.name)
        for key, body in asleep.items():
            rows[key] = adapter.validate_json(body)
            self._schedule(kind, key)

    # -- time ------------------------------------------------------------------------------------------------

    def advance(self, to: float) -> None:
        """Let time pass up to an instant; time never runs backwards."""
        while self._queue and self._queue[0][0] <= to:
            due, _, kind_name, key = heapq.heappop(self._queue)
            if self._queued.get((kind_name, key)) != due:
                continue  # it was moved or dropped meanwhile
            del self._queued[kind_name, key]
            self.now = max(self.now, due)
            self._visit(self._kinds[kind_name], key)
        self.now = max(self.now, to)

    def next_due(self) -> float | None:
        """Return the instant of the next thing that time alone will do."""
        while self._queue and self._queued.get(self._queue[0][2:]) != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def _visit(self, kind: Kind[object], key: str) -> None:
        thing = self._rows[kind.name].get(key)
        if thing is not None and kind.on_due is not None:
            kind.on_due(self, thing)
            if key in self._rows[kind.name]:
                self.touch(kind, key)

    def _schedule(self, kind: Kind[object], key: str) -> None:
        thing = self._rows[kind.name].get(key)
        due = kind.due(thing) if kind.due is not None and thing is not None else None
        if due is None:
            self._queued.pop((kind.name, key), None)
        elif self._queued.get((kind.name, key)) != due:
            self._queued[kind.name, key] = due
            heapq.heappush(self._queue, (due, next(self._turns), kind.name, key))

    # -- the state file --------------------------------------------------------------------------------------

    def take_changes(self, *, wanted: bool = True) -> list[Change]:
        """Return what changed since the last call, as rows; none are made where nobody keeps them."""
        changed, self._dirty = self._dirty, {}
        if not wanted:
            return []
        return [Change(kind_name, key, self._saved(kind_name, key)) for kind_name, key in changed]

    def keep_changes(self, changes: list[Change]) -> None:
        """Count things as changed still, since they could not be saved."""
        self._dirty = dict.fromkeys((change.kind, change.id) for change in changes) | self._dirty

    def restore(self, change: Change) -> None:
        """Take a row of the state file in; it wakes when its kind is first asked for."""
        if change.body is not None:
            self._asleep.setdefault(change.kind, {})[change.id] = change.body

    def _saved(self, kind_name: str, key: str) -> bytes | None:
        thing = self._rows[kind_name].get(key)
        return None if thing is None else self._adapter(kind_name).dump_json(thing)

    def _adapter(self, kind_name: str) -> TypeAdapter[object]:
        if kind_name not in self._adapters:
            self._adapters[kind_name] = TypeAdapter(self._kinds[kind_name].holds)
        return self._adapters[kind_name]


CLUSTERS = Kind("cluster", Cluster)
PRODUCTS = Kind("product", Product)
SHELVES = Kind("shelf", Shelf)
LEDGER = Kind("ledger", LedgerEntry)
STORAGE_LEDGER = Kind("storage_ledger", LedgerEntry)  # of network storages, which are no instances
WALLETS = Kind("wallet", Wallet, due=lambda wallet: wallet.runs_dry_at)
INSTANCES = Kind("instance", Instance, due=lambda instance: instance.due_at)
