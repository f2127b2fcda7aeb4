"""The machine's clock is put forward or back by an hour while all is under way, to no harm."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.home import a_name, details_in, parts, until
from tests.support.machine import at_home_on_a_machine

HOUR_S = 3600


@pytest.mark.parametrize("jump", [HOUR_S, -HOUR_S])
def test_a_jump_of_the_clock_loses_nothing_doubles_nothing_and_stops_nothing(
    tmp_path: Path, jump: int
) -> None:
    with at_home_on_a_machine(tmp_path) as (home, machine), ThreadPoolExecutor() as pool:
        kept, leaving = home.running(), home.running()
        with home.slowly():
            on_its_way = home.created()
            waiting = pool.submit(home.waited, on_its_way, "running")
            machine.put(jump)
            home.asked(leaving, "stop")
            late = home.created(name=a_name())
        assert waiting.result()["status"] in {"running", "ready"}
        home.waited(leaving, "exited")
        home.waited(late, "running")
        home.asked(leaving, "delete")
        home.waited(leaving, "terminated")
        assert home.looked(kept)["status"] == "running"
        until(lambda: details_in(home.api.get("/health")), lambda found: found["status"] == "healthy")
        ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
        assert (len(ledger), sum(bool(each["alive"]) for each in ledger)) == (4, 3)
        assert [entry for entry in home.server.entries() if entry["level"] == "error"] == []
