"""Reads over HTTP with a key: one instance at 64 clients, lists of 100 and of 1 000 of 1 000 instances.

On SQLite and on PostgreSQL. "Unchanged" is what most reads of pollers find; "changing" means that labels are
changed all the while by another client. The baseline is an empty route of the same FastAPI and uvicorn.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from benchmarks._load import Load, request
from benchmarks._site import KEY, Site, bare, folder, postgres, site
from benchmarks._table import Line, Measured, best_of, heading

FLEET = 1_000
ASKED_FOR = 50  # different instances
ROUNDS = 3
PAGE = 500  # the most that a page holds
_PATCH = b'{"labels":{"turn":"%d"}}'


def main() -> None:
    """Measure both databases; about three minutes."""
    heading()
    with folder() as where:
        with bare(where) as program:
            empty = {
                clients: best_of(ROUNDS, program, Load(clients, count, lambda _: request("GET", "/empty")))
                for clients, count in ((1, 1_000), (16, 4_000), (64, 8_000))
            }
        for name in ("SQLite", "PostgreSQL"):
            inside = where / name
            inside.mkdir()
            with _database(name, inside) as settings, site(inside, settings=settings) as found:
                _measure(name, found, empty)


@contextmanager
def _database(name: str, where: Path) -> Iterator[dict[str, str]]:
    if name == "SQLite":
        yield {}
        return
    with postgres(where) as url:
        yield {"OSTLER_DATABASE_URL": url}


def _measure(name: str, found: Site, empty: dict[int, Measured]) -> None:
    ids = filled(found, FLEET)[:ASKED_FOR]
    one = Load(64, 8_000, lambda number: request("GET", f"/api/instances/{ids[number % len(ids)]}", KEY))
    lines = (
        ("one instance, unchanged", "≥ 5,000/s at 64", one),
        ("list of 100, unchanged", "p50 ≤ 3 ms", _list(1, 300)),
        ("list of 100, unchanged", "≥ 1,000/s at 16", _list(16, 2_000)),
    )
    for what, goal, load in lines:
        _show(f"{name}: {what}", goal, best_of(ROUNDS, found.ostler, load), empty[load.clients])
    thousand = best_of(ROUNDS, found.ostler, _list(16, 400, PAGE))
    _show(f"{name}: half of a list of 1,000, unchanged", "≥ 400/s (two are ≥ 200/s)", thousand, empty[16])
    with _changing(found, ids[0]):
        for what, load in (("one instance, changing", one), ("list of 100, changing", _list(16, 1_000))):
            _show(f"{name}: {what}", "", best_of(ROUNDS, found.ostler, load), empty[load.clients])


def _show(what: str, goal: str, seen: Measured, baseline: Measured) -> None:
    Line(what, goal, str(seen), str(baseline), seen.ratio_to(baseline)).show()


def _list(clients: int, count: int, limit: int = 100) -> Load:
    asked = request("GET", f"/api/instances?limit={limit}", KEY)
    return Load(clients, count, lambda _: asked)


def filled(found: Site, count: int) -> list[str]:
    """Have instances created and wait until they run; return their ids."""
    found.stock_up()
    ids = [found.created(f"bench-{number}") for number in range(count)]
    settle(found)
    return ids


def settle(found: Site) -> None:
    """Wait until nothing is being created or started, then let the cloud's time stand still."""
    pause = threading.Event()
    query = {"status": "creating,starting", "limit": "1"}
    while found.api.get("/api/instances", params=query).json()["total"]:
        pause.wait(0.5)
    found.control("/clock", speed=0)


@contextmanager
def _changing(found: Site, instance_id: str) -> Iterator[None]:
    """Change the labels of one instance for a block, again and again."""
    is_over = threading.Event()

    def change() -> None:
        turn = 0
        while not is_over.wait(0.01):
            turn += 1
            body = orjson.loads(_PATCH % turn)
            found.api.patch(f"/api/instances/{instance_id}", json=body).raise_for_status()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


if __name__ == "__main__":
    main()
