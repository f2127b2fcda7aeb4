"""Seeds in process: the rows, the bodies and the pretend cloud in one event loop, hours in virtual seconds.

What a seed does is decided by its number alone, so a seed that fails does so every time. See
`tests/support/chaos_twin.py`; `make chaos SEEDS=1000` plays a thousand.
"""

import pytest

from tests.support.chaos_report import Figures, counted, note, seeds_asked
from tests.support.chaos_twin import play

pytestmark = pytest.mark.looptime


FOUND_OUT = (203, 277, 490)  # seeds that once failed


@pytest.mark.parametrize("seed", seeds_asked("OSTLER_TEST_SEEDS", 30))
async def test_a_seed_in_process_loses_and_doubles_nothing(seed: int, request: pytest.FixtureRequest) -> None:
    await judge(seed, request)


@pytest.mark.parametrize("seed", FOUND_OUT)
async def test_what_a_seed_once_found_out_stays_repaired(seed: int, request: pytest.FixtureRequest) -> None:
    await judge(seed, request)


async def judge(seed: int, request: pytest.FixtureRequest) -> None:
    """Play a seed, note what it did, and fail if a promise was not kept."""
    report = await play(seed)
    note(
        request.node,
        Figures(
            ground="in process (virtual time)",
            seed=seed,
            requests=report.requests,
            made=report.made,
            kills=report.kills,
            leases_lost=0,  # a process has the database for itself
            faults=report.faults,
            outages=int(report.had_outage),
            recovery_s=report.recovery_s,
            found=counted(report.findings, report.errors),
        ),
    )
    again = f'to repeat it alone: make chaos SEEDS={seed}-{seed} ARGS="-k in_process"'
    assert report.is_clean, "\n".join([str(report.findings), *report.errors, again])
