"""`POST /api/instances`, durable, while the worker carries out what was accepted, and 100 creates at once.

The cloud takes 0.3 s for each call, as the real one. The baselines are an empty POST of the same FastAPI and
uvicorn, and one durable INSERT per commit through the driver alone.
"""

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import psycopg

from benchmarks._load import Load, request
from benchmarks._site import KEY, PRODUCT, TEMPLATE, Site, bare, cores, folder, on_cores, postgres, site
from benchmarks._table import Line, Measured, best_of, heading
from benchmarks.engine import bare_inserts_postgres, bare_inserts_sqlite

CALL_S = 0.3
AT_ONCE = 100
ROUNDS = 2
_LOADS = ((1, 300, "p50 ≤ 3 ms"), (16, 1_600, "p99 ≤ 30 ms"), (64, 3_200, "≥ 1,700/s"))
_numbers = itertools.count()


def main() -> None:
    """Measure both databases; about two minutes."""
    heading()
    with folder() as where:
        with bare(where) as program:
            empty = {
                clients: best_of(ROUNDS, program, Load(clients, count, lambda _: request("POST", "/empty")))
                for clients, count, _ in _LOADS
            }
        with on_cores(cores()[0]):
            _rate("SQLite", bare_inserts_sqlite(where / "bare.db"))
        with site(_made(where / "sqlite"), speed=1) as found:
            _measure("SQLite", found, empty)
        with site(_made(where / "at-once"), speed=1) as found:
            _measure_at_once(found)
        inside = _made(where / "postgres")
        with postgres(inside) as url:
            _rate("PostgreSQL", bare_inserts_postgres(url))
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP TABLE bare")
            with site(inside, 1, {"OSTLER_DATABASE_URL": url}) as found:
                _measure("PostgreSQL", found, empty)


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def _rate(name: str, per_second: float) -> None:
    Line(f"{name}: durable INSERTs of one caller, bare", "", f"{per_second:,.0f}/s").show()


def _measure(name: str, found: Site, empty: dict[int, Measured]) -> None:
    _prepare(found)
    for clients, count, goal in _LOADS:
        seen = best_of(ROUNDS, found.ostler, Load(clients, count, _create, status=201))
        what = f"{name}: create, {clients} at once, {CALL_S} s a cloud call"
        Line(what, goal, str(seen), str(empty[clients]), seen.ratio_to(empty[clients])).show()


def _measure_at_once(found: Site) -> None:
    """Measure how long it takes from the first request to the last call at the cloud."""
    _prepare(found)
    _until(lambda: found.calls("create") == 1)
    began = time.perf_counter()
    best_of(1, found.ostler, Load(AT_ONCE, AT_ONCE, _create, status=201))
    accepted_s = time.perf_counter() - began
    _until(lambda: found.calls("create") == AT_ONCE + 1)
    seconds = time.perf_counter() - began
    Line(
        f"{AT_ONCE} creates at once, all at the cloud",
        "< 2 s",
        f"{seconds:.2f} s (accepted after {accepted_s:.2f} s)",
        f"{AT_ONCE / 32 * CALL_S:.2f} s: 32 calls at a time",
        seconds / (AT_ONCE / 32 * CALL_S),
    ).show()


def _prepare(found: Site) -> None:
    found.stock_up()
    found.created("warm")  # the catalogue is read
    found.control("/faults", fault="latency", seconds=CALL_S, times=None, share=1.0)


def _create(_: int) -> bytes:
    body = {"name": f"bench-{next(_numbers)}", "productName": PRODUCT, "templateId": TEMPLATE}
    return request("POST", "/api/instances", KEY, orjson.dumps(body))


def _until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not is_so():
        pause.wait(0.01)


if __name__ == "__main__":
    main()
