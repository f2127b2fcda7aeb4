"""How soon work goes on after `kill -9`: by the same server started again, and by another replica.

Creates are accepted while the cloud is slow to make them, the server is killed, and the clock runs from the
restart (or, for a replica, from the kill) to the next call that arrives at the cloud.
"""

import signal
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks._site import Program, Site, beside, folder, postgres, simulator
from benchmarks._table import Line, heading

CREATES = 60
ROUNDS = 3
_SLOW_S = 2.0  # a call of the pretend cloud; 32 are under way at once, so that some creates wait


def main() -> None:
    """Measure; about two minutes."""
    heading()
    restarts = []
    for _ in range(ROUNDS):
        with folder() as where, simulator(where, 1) as cloud:
            restarts.append(_restart_s(where, cloud))
    _show("work goes on after kill -9 and a restart", "≤ 3 s", restarts)
    with folder() as where, simulator(where, 1) as cloud, postgres(where) as url:
        settings = {"OSTLER_DATABASE_URL": url}
        takeovers = [_takeover_s(where, cloud, settings)]
    _show("work goes on after kill -9 on another replica", "≤ 30 s", takeovers)


def _restart_s(where: Path, cloud: Program) -> float:
    with beside(where, cloud) as found:
        before = _killed(found)
    with beside(where, cloud) as found:
        return _next_call_at(found, before) - found.ostler.began


def _takeover_s(where: Path, cloud: Program, settings: Mapping[str, str]) -> float:
    with beside(where, cloud, settings) as replica:
        with beside(where, cloud, settings) as found:
            before = _killed(found)
            killed_at = time.perf_counter()
        return _next_call_at(replica, before) - killed_at


def _killed(found: Site) -> int:
    """Kill a server that has much to do; return how many creates had arrived at the cloud by then."""
    found.stock_up()
    found.created("warm")
    found.control("/faults", route="POST *create", fault="latency", seconds=_SLOW_S, times=None, share=1.0)
    for number in range(CREATES):
        found.created(f"bench-{number}")
    found.ostler.process.send_signal(signal.SIGKILL)
    found.ostler.process.wait()
    return found.calls("create")


def _next_call_at(found: Site, before: int) -> float:
    while found.calls("create") <= before:
        pass  # each look takes a millisecond
    return time.perf_counter()


def _show(what: str, goal: str, seconds: list[float]) -> None:
    Line(what, goal, f"best {min(seconds):.2f} s, worst {max(seconds):.2f} s").show()


if __name__ == "__main__":
    main()
