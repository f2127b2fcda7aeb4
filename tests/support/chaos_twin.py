"""Chaos on the twin: clients go on asking while processes die at random points and the cloud fails.

One seed is one run in virtual time. A process dies after a random write or call, or between two, and
another is started; the cloud spoils a share of all calls, takes spot instances back, and is maybe away for
ten minutes. Afterwards all is well again, the work comes to rest, and rows and ledger are compared.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import structlog
from sqlalchemy import Connection

from ostler.engine.kind import Body, JobContext
from ostler.engine.outcome import Outcome
from ostler.simulator.faults import Fault
from ostler.simulator.instance import Mode
from ostler.simulator.spot import force_notice
from ostler.simulator.status import CONNECTED
from ostler.store.inline import InlineDatabase
from ostler.watch.account import Account
from ostler.watch.lookout import Lookout
from ostler.watch.probes import Probes
from ostler.watch.watcher import Watcher
from tests.support.chaos_rows import compared_rows, held_jobs
from tests.support.chaos_twin_clients import Claims, Client
from tests.support.chaos_verdict import Findings, Theirs, compare
from tests.support.core import Installation, an_installation
from tests.support.process import Ostler
from tests.support.simulator import (
    CREATE,
    late_in_lists,
    malformed_answer,
    no_capacity,
    rate_limited,
    reset_after_effect,
    reset_before_effect,
    server_error,
    slow,
    timeout_after_effect,
    timeout_before_effect,
)
from tests.support.watching import CONFIG, a_tower, led

T = TypeVar("T")
EVERYTHING = "*"
OUTAGE_S = 600.0
REST_S = 3 * 3600.0  # virtual; within it everything must have come to rest
_MOST_EFFECTS = 80

KINDS: tuple[tuple[str, Fault], ...] = (
    (EVERYTHING, timeout_after_effect()),
    (EVERYTHING, timeout_before_effect()),
    (EVERYTHING, reset_after_effect()),
    (EVERYTHING, reset_before_effect()),
    (EVERYTHING, server_error(500)),
    (EVERYTHING, server_error(500, after_effect=True)),
    (EVERYTHING, server_error(502, after_effect=True)),
    (EVERYTHING, server_error(504, after_effect=True)),
    (EVERYTHING, rate_limited(2)),
    (EVERYTHING, malformed_answer()),
    (EVERYTHING, slow(12.0)),  # a process's patience is 10 s
    (CREATE, no_capacity()),
    (CREATE, late_in_lists(20.0)),
    # later than the settling time: a second one may be made, and must go again
    (CREATE, late_in_lists(120.0)),
)


@dataclass(frozen=True, slots=True)
class TwinReport:
    """What a seed did, and what was found."""

    seed: int
    findings: Findings
    kills: int
    faults: int
    reclaims: int
    requests: int
    made: int  # upstreams that the cloud ever made
    states: tuple[str, ...]
    had_outage: bool
    recovery_s: float  # virtual, the slowest: from a start to the first step, where work had been under way
    errors: tuple[str, ...] = ()  # that were logged as such: mistakes of ours

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept, and nothing was logged that should not be."""
        return self.findings.is_clean and not self.errors


async def play(seed: int) -> TwinReport:
    """Play one seed to its end."""
    random.seed(seed)  # the back-off of the transport is drawn from it
    with structlog.testing.capture_logs() as logs:
        async with an_installation() as home:
            home.seed = seed
            report = await _Run(home, seed).play()
    errors = tuple(str(entry) for entry in logs if entry["log_level"] in {"error", "critical"})
    return replace(report, errors=errors)


@dataclass
class _Run:
    home: Installation
    seed: int
    dice: random.Random = field(init=False)
    living: Ostler | None = None
    claims: Claims = field(default_factory=Claims)
    kills: int = 0
    faults: int = 0
    reclaims: int = 0
    had_outage: bool = False
    is_going_wrong: bool = True
    began: float | None = None  # of the process that lives, until its first step
    recovery_s: float = 0.0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 -- a run that can be repeated

    async def play(self) -> TwinReport:
        self._spoil()
        lives = asyncio.create_task(self._lives())
        clients = [
            Client(number, self.seed, self.home.clock, lambda: self.living, self.claims)
            for number in range(self.dice.randint(1, 4))
        ]
        await asyncio.gather(self._weather(), self._reclaims(), *(client.live() for client in clients))
        self._all_is_well()
        self.is_going_wrong = False
        findings = await self._at_rest()
        lives.cancel()
        await asyncio.gather(lives, return_exceptions=True)
        return TwinReport(
            seed=self.seed,
            findings=findings,
            kills=self.kills,
            faults=self.faults,
            reclaims=self.reclaims,
            requests=self.claims.requests,
            made=len(self.home.simulated.world.ledger),
            states=tuple(row.state.value for row in await self._read(compared_rows)),
            had_outage=self.had_outage,
            recovery_s=self.recovery_s,
        )

    def _spoil(self) -> None:
        self.home.simulated.cloud.faults.reseed(self.seed)
        for route, fault in self.dice.sample(KINDS, self.dice.randint(0, 6)):
            self.home.simulated.share_of_calls(route, fault, self.dice.uniform(0.02, 0.12))

    def _all_is_well(self) -> None:
        self.faults += sum(fault.hits for fault in self.home.simulated.cloud.faults.all())
        self.home.simulated.all_is_well()

    async def _weather(self) -> None:
        """In one of five runs the cloud is away for ten minutes."""
        if self.dice.random() >= 0.2:
            return
        self.had_outage = True
        await self.home.clock.sleep(self.dice.uniform(0, 60))
        self._all_is_well()
        self.home.simulated.share_of_calls(EVERYTHING, server_error(503), 1.0)
        await self.home.clock.sleep(OUTAGE_S)
        self._all_is_well()
        self._spoil()

    async def _reclaims(self) -> None:
        """In half of the runs the cloud takes back a spot instance now and then."""
        for _ in range(self.dice.choice((0, 0, 1, 3))):
            await self.home.clock.sleep(self.dice.uniform(10, 120))
            self.home.simulated.cloud.catch_up()
            world = self.home.simulated.world
            running = [each for each in world.instances.values() if each.status in CONNECTED]
            spot = [each for each in running if each.mode is Mode.SPOT]
            if spot:
                force_notice(world, self.dice.choice(spot), self.dice.choice((0.0, 5.0, 60.0)))
                self.reclaims += 1

    async def _lives(self) -> None:
        """Let one process live after the other; the last does not die."""
        deaths = self.dice.randint(0, 8)
        while self.is_going_wrong and self.kills < deaths:
            await self._live(self.dice.randint(1, _MOST_EFFECTS))
            self.kills += 1
            await self.home.clock.sleep(self.dice.uniform(0, 5))
        await self._live(None)

    async def _live(self, dies_after: int | None) -> None:
        """Let one process live until it has had so many effects; without a number, for ever."""
        held = await self._read(held_jobs)
        self.home.around = self._timed if held else lambda body: body
        self.began = now = self.home.clock.monotonic()
        ends_at = now + self.dice.uniform(5, 120)
        process = await self.home.process(dies_after)
        tower = a_tower(process)
        watcher = Watcher(tower, Account(process.recorder, CONFIG.key_digest))
        async with led(process, Lookout(watcher, Probes(tower, process.prober))):
            self.living = process
            while not process.database.stop_point.is_dead:
                await self.home.clock.sleep(0.5)
                if dies_after is not None and self.home.clock.monotonic() > ends_at:
                    process.database.stop_point.after = 0
            self.living = None
        await process.kill()

    def _timed(self, body: Body) -> Body:
        """Note how long after its start a process took its first step."""

        async def run(context: JobContext) -> Outcome:
            if self.began is not None:
                self.recovery_s = max(self.recovery_s, self.home.clock.monotonic() - self.began)
                self.began = None
            return await body(context)

        return run

    async def _at_rest(self) -> Findings:
        """Wait until nothing more is to be found, or for so long that it is a finding."""
        until = self.home.clock.monotonic() + REST_S
        while True:
            await self.home.clock.sleep(30)
            findings = compare(self.claims.wishes, await self._read(compared_rows), self._theirs())
            if findings.is_clean or self.home.clock.monotonic() > until:
                return findings

    async def _read(self, look: Callable[[Connection], T]) -> T:
        return await InlineDatabase(self.home.storage).read(look)

    def _theirs(self) -> list[Theirs]:
        world = self.home.simulated.world
        self.home.simulated.cloud.catch_up()
        return [
            Theirs(each.id, each.name, self._word(each.id), not each.removed_at)
            for each in world.ledger.values()
        ]

    def _word(self, upstream_id: str) -> str:
        found = self.home.simulated.world.instances.get(upstream_id)
        return "removed" if found is None else found.status.value
