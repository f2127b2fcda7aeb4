"""How long a start takes, how much memory an idle server has, and how long the command line takes to answer.

The baselines are the same Python, importing FastAPI and uvicorn and answering an empty route, and saying
nothing at all.
"""

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx2

from benchmarks._site import BIN, bare, cores, folder, on_cores, site
from benchmarks._table import Line, heading

STARTS = 5
CALLS = 10
IDLE_S = 10


def main() -> None:
    """Measure; about a minute."""
    heading()
    with folder() as where:
        bare_s, bare_mb = _bare(where)
        starts = []
        for number in range(STARTS):
            inside = where / str(number % 2)  # the first two make their database, the others find it
            inside.mkdir(exist_ok=True)
            starts.append(_start_s(inside))
        seconds = min(starts)
        Line("start to healthy", "< 1.5 s", f"{seconds:.2f} s", f"{bare_s:.2f} s", seconds / bare_s).show()
        (where / "idle").mkdir()
        with site(where / "idle") as found:
            threading.Event().wait(IDLE_S)
            megabytes = found.ostler.memory_mb()
        Line(
            "idle memory", "< 110 MB", f"{megabytes:.0f} MB", f"{bare_mb:.0f} MB", megabytes / bare_mb
        ).show()
    with on_cores(cores()[0]):
        nothing = _call_s([sys.executable, "-c", "pass"])
        for words in (["--version"], ["--help"]):
            took = _call_s([str(BIN / "ostler"), *words])
            Line(
                f"ostler {words[0]}",
                "< 0.2 s",
                f"{took:.3f} s",
                f"{nothing:.3f} s: python -c pass",
                took / nothing,
            ).show()


def _bare(where: Path) -> tuple[float, float]:
    seconds, megabytes = [], []
    for _ in range(STARTS):
        began = time.perf_counter()
        with bare(where) as program:
            httpx2.get(f"{program.url}/empty").raise_for_status()
            seconds.append(time.perf_counter() - began)
            megabytes.append(program.memory_mb())
    return min(seconds), statistics.median(megabytes)


def _start_s(where: Path) -> float:
    """Return how long after its start a server says that it is ready."""
    with site(where) as found:
        began = found.ostler.began
        while httpx2.get(f"{found.ostler.url}/health/ready").status_code != httpx2.codes.OK:
            pass  # each look takes a few milliseconds
        return time.perf_counter() - began


def _call_s(command: Sequence[str]) -> float:
    seconds = []
    for _ in range(CALLS):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 -- our own words
        seconds.append(time.perf_counter() - began)
    return min(seconds)


if __name__ == "__main__":
    main()
