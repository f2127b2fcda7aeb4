"""The stage of one run of real chaos: a site under load, what goes wrong on it, the rest and the comparison.

`Plan` says how a run goes, `Report` what came of it, `Stage` holds all that the courses of `chaos_run.py`
need for it. Nothing is asserted on the way; waiting is polling with a deadline.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ostler.clock import SystemClock
from tests.support.chaos_load import Load
from tests.support.chaos_rows import Rows
from tests.support.chaos_site import PretendCloud, Server
from tests.support.chaos_verdict import Findings, compare

SPEED = 100.0
OUTAGE_S = 600.0 / SPEED  # ten minutes in the cloud's time
_POLL_S = 0.02
_LOOK_S = 0.5
_REST_S = 150.0  # within it everything must have come to rest
_CLOCK = SystemClock()
_CREATE = "POST *create"

FAULTS: tuple[Mapping[str, object], ...] = (
    {"fault": "timeoutAfter"},
    {"fault": "timeoutBefore"},
    {"fault": "resetBefore"},
    {"fault": "resetAfter"},
    {"fault": "status", "status": 500, "after": True},
    {"fault": "status", "status": 502, "after": True},
    {"fault": "status", "status": 504, "after": True},
    {"fault": "rateLimit", "retryAfter": 1},
    {"fault": "malformedJson"},
    {"fault": "latency", "seconds": 3.0},  # the client's patience is 2 s
    {"fault": "lateInLists", "seconds": SPEED, "route": _CREATE},  # a second of ours
    {"fault": "noCapacity", "route": _CREATE},
)


class Course(StrEnum):
    """What happens to the servers."""

    KILLS = "killed and started again"
    LOSS = "one of two replicas killed for good"
    PAUSE = "one of two replicas asleep for longer than its leases"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run goes."""

    seed: int
    course: Course = Course.KILLS
    kills: int = 3
    clients: int = 6
    share: float = 0.0  # of all calls, for each kind of fault
    has_outage: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, and what was found."""

    plan: Plan
    findings: Findings
    accepted: int
    made: int  # upstreams that the cloud ever made
    requests: int
    unanswered: int
    kills: int
    kills_at_work: int  # while jobs were running
    leases_lost: int  # that a server found to be another's, when it came to
    faults: int
    recoveries: tuple[float, ...]  # seconds from a start after a kill until its work goes on
    rest_s: float
    surprises: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept, and nothing was answered or logged that should not be."""
        return self.findings.is_clean and not self.surprises and not self.errors

    def __str__(self) -> str:
        """Tell what was found."""
        named = [f"  surprise: {each}" for each in self.surprises]
        named += [f"  logged: {each}" for each in self.errors]
        return "\n".join([f"seed {self.plan.seed}, {self.plan.course}: {self.findings}", *named])


@dataclass
class Stage:
    """One run."""

    plan: Plan
    cloud: PretendCloud
    servers: tuple[Server, ...]
    rows: Rows
    dice: random.Random = field(init=False)
    load: Load = field(init=False)
    faults: int = 0
    kills: int = 0
    kills_at_work: int = 0
    recoveries: list[float] = field(default_factory=list)
    watching: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.plan.seed)  # noqa: S311 -- a run that can be repeated
        self.load = Load(tuple(server.url for server in self.servers), self.plan.seed)

    async def sleep(self, shortest_s: float, longest_s: float) -> None:
        """Let some time pass, chosen by the seed."""
        await _CLOCK.sleep(self.dice.uniform(shortest_s, longest_s))

    async def until_accepted(self) -> None:
        """Wait until something was accepted."""
        while not self.load.claims.wishes:
            await _CLOCK.sleep(_POLL_S)

    async def spoil(self) -> None:
        """Let the plan's share of all calls go wrong from now on."""
        for fault in FAULTS if self.plan.share else ():
            await self.cloud.spoil({**fault, "share": self.plan.share, "seed": self.dice.randint(1, 2**31)})

    async def outage(self) -> None:
        """Let the cloud be away for ten minutes of its time."""
        await self.all_is_well()
        await self.cloud.spoil({"fault": "status", "status": 503, "times": 1_000_000})
        await _CLOCK.sleep(OUTAGE_S)
        await self.all_is_well()
        await self.spoil()

    async def all_is_well(self) -> None:
        """Let nothing go wrong any more."""
        self.faults += await self.cloud.all_is_well()

    async def held_by(self, pid: int) -> dict[int, int]:
        """Return the jobs that a process holds, or held when it died, with the epochs of their leases."""
        return await asyncio.to_thread(self.rows.held_jobs, pid)

    async def recovered(self, held: Mapping[int, int]) -> None:
        """Note how long it takes from now until any of these jobs is taken up again."""
        began = _CLOCK.monotonic()
        while not await asyncio.to_thread(self.rows.has_gone_on, held):
            if _CLOCK.monotonic() - began > _REST_S:
                break
            await _CLOCK.sleep(_POLL_S)
        self.recoveries.append(_CLOCK.monotonic() - began)

    async def verdict(self) -> Report:
        """Wait until there is nothing to be found twice in a row, or for so long that it is a finding."""
        began = _CLOCK.monotonic()
        was_clean = False
        while True:
            theirs = await self.cloud.ledger()
            ours = await asyncio.to_thread(self.rows.all)
            findings = compare(self.load.claims.wishes, ours, theirs)
            rest_s = _CLOCK.monotonic() - began
            if (findings.is_clean and was_clean) or rest_s > _REST_S:
                await asyncio.gather(*self.watching)
                return self._report(findings, len(theirs), rest_s)
            was_clean = findings.is_clean
            await _CLOCK.sleep(_LOOK_S)

    def _report(self, findings: Findings, made: int, rest_s: float) -> Report:
        claims = self.load.claims
        return Report(
            plan=self.plan,
            findings=findings,
            accepted=len(claims.wishes),
            made=made,
            requests=claims.requests,
            unanswered=claims.unanswered,
            kills=self.kills,
            kills_at_work=self.kills_at_work,
            leases_lost=sum("job lease lost" in line for server in self.servers for line in server.log()),
            faults=self.faults,
            recoveries=tuple(self.recoveries),
            rest_s=rest_s,
            surprises=tuple(claims.surprises),
            errors=tuple(line for server in self.servers for line in server.errors()),
        )
