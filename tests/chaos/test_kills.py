"""Real kills: servers on real databases, ended by `kill -9` at seeded moments while clients go on asking.

The cloud survives, and its ledger is the witness: nothing is billed that no row has, no instance has two,
nothing accepted is lost, every operation ends. For every second seed the cloud fails in a dozen ways, for
every fourth it is also away for ten minutes of its time. `make chaos KILLS=100` plays a hundred per database.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import URL

from tests.support.chaos_report import Figures, counted, note, seeds_asked
from tests.support.chaos_run import Ground, run
from tests.support.chaos_stage import Course, Plan, Report
from tests.support.databases import KINDS, an_empty_database

pytestmark = pytest.mark.timeout(1800)  # of a batch; each of its seeds ends by itself before

SEEDS = seeds_asked("OSTLER_TEST_KILLS", 10)
_SHARE = 0.02  # of all calls, for each kind of fault
_BATCH = (
    5  # each has servers with pools of their own, and the PostgreSQL of the tests takes a hundred clients
)


def batches(seeds: Sequence[int]) -> list[Sequence[int]]:
    """Return the seeds in parts that are played together: while some are under load, others rest."""
    return [seeds[first : first + _BATCH] for first in range(0, len(seeds), _BATCH)]


def span(batch: Sequence[int]) -> str:
    """Name a batch."""
    return f"{batch[0]}-{batch[-1]}"


@pytest.fixture
def ground() -> Ground:
    """Give what the runs of one batch stand on."""
    return Ground()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> URL | None:
    """Give each kind of database in turn: none for SQLite, else the server of PostgreSQL."""
    if request.param == "sqlite":
        return None
    found: URL = request.getfixturevalue("postgres_server")
    return found


@pytest.mark.parametrize("batch", batches(SEEDS), ids=span)
async def test_killed_servers_lose_and_double_nothing(
    batch: Sequence[int],
    ground: Ground,
    server: URL | None,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    plans = [a_plan(seed, Course.KILLS) for seed in batch]
    where = "kill -9 on SQLite" if server is None else "kill -9 on PostgreSQL"
    judge(
        request.node, where, await asyncio.gather(*(play(plan, ground, tmp_path, server) for plan in plans))
    )


@pytest.mark.parametrize("batch", batches(SEEDS[::5]), ids=span)
@pytest.mark.needs("postgres")
async def test_a_replica_goes_on_with_what_another_leaves(
    batch: Sequence[int],
    ground: Ground,
    postgres_server: URL,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    plans = [a_plan(seed, Course.LOSS if seed % 2 else Course.PAUSE) for seed in batch]
    reports = await asyncio.gather(*(play(plan, ground, tmp_path, postgres_server) for plan in plans))
    judge(request.node, "two replicas on PostgreSQL", reports)


def a_plan(seed: int, course: Course) -> Plan:
    return Plan(seed, course, share=0.0 if seed % 2 else _SHARE, has_outage=seed % 4 == 0)


async def play(plan: Plan, ground: Ground, folder: Path, server: URL | None) -> Report:
    """Play a plan on a database of its own."""
    with ExitStack() as until_played:
        url = None if server is None else until_played.enter_context(an_empty_database(server))
        return await run(plan, ground, folder / f"seed-{plan.seed}", url)


def judge(test: pytest.Item, where: str, reports: Sequence[Report]) -> None:
    """Note what the seeds did; fail for those whose promises were not kept."""
    for report in reports:
        note(test, figures_of(where, report))
    broken = [report for report in reports if not report.is_clean]
    again = "to repeat one alone: make chaos KILLS={0}-{0} ARGS='-k test_kills'"
    assert not broken, "\n".join(f"{report}\n{again.format(report.plan.seed)}" for report in broken)


def figures_of(where: str, report: Report) -> Figures:
    return Figures(
        ground=where,
        seed=report.plan.seed,
        requests=report.requests,
        made=report.made,
        kills=report.kills,
        leases_lost=report.leases_lost,
        faults=report.faults,
        outages=int(report.plan.has_outage),
        recovery_s=max(report.recoveries, default=0.0),
        found=counted(report.findings, [*report.surprises, *report.errors]),
    )
