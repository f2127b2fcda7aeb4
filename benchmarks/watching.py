"""What watching a large fleet costs: processor time, memory and calls to the cloud, at a pass every 30 s.

The fleet is seeded at the pretend cloud, and written as rows before the server starts, so that each pass
compares all of it and finds that nothing has changed: that is the watcher's usual day.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, text

from benchmarks._site import Program, Site, beside, client, folder, simulator
from benchmarks._table import Line, heading
from ostler.clock import SystemClock
from ostler.store.database import DatabaseConfig
from ostler.store.instances import InstanceRow, insert_instance, instances
from ostler.store.opening import open_database
from tests.support.builders import an_instance

FLEETS = ((10_000, 2, 150), (100_000, 5, 400))
INTERVAL_S = 30
PASSES = 3
_PAGE = 100
_LIST = "/gpu-instance/openapi/v1/gpu/instances"


def main() -> None:
    """Measure; about six minutes."""
    heading()
    for count, most_percent, most_mb in FLEETS:
        with folder() as where, simulator(where, 1) as cloud:
            asyncio.run(_write_rows(where, _seeded(cloud, count)))
            with beside(where, cloud) as found:
                _measure(found, count, f"≤ {most_percent} % of a core, ≤ {most_mb} MB")


def _seeded(cloud: Program, count: int) -> Sequence[str]:
    """Have a fleet at the cloud; return its ids."""
    with client(cloud.url, "sk_bench") as sim:
        sim.post("/_sim/seed", json={"instances": count}).raise_for_status()
        pages = (
            sim.get(_LIST, params={"pageSize": _PAGE, "pageNum": number}).json()["instances"]
            for number in range(1, count // _PAGE + 1)
        )
        return [str(each["id"]) for page in pages for each in page]


async def _write_rows(where: Path, upstream_ids: Sequence[str]) -> None:
    """Write a row for each upstream, all like one that runs."""
    path = where / "data" / "ostler.db"
    database = await open_database(DatabaseConfig(f"sqlite:///{path}"), SystemClock())
    copied = ", ".join(column.name for column in instances.c if column.name not in {"id", "upstream_id"})
    copying = text(
        f"INSERT INTO instances (id, upstream_id, {copied}) "  # noqa: S608 -- our own columns
        f"SELECT :id, :upstream_id, {copied} FROM instances WHERE id = :first"
    )
    first = replace(an_instance(), upstream_id=upstream_ids[0])

    def write(connection: Connection) -> None:
        insert_instance(connection, InstanceRow(first), None)
        rows = [
            {"id": f"{number:026d}", "upstream_id": upstream_id, "first": first.id}
            for number, upstream_id in enumerate(upstream_ids[1:])
        ]
        connection.execute(copying, rows)

    try:
        await database.write(write)
    finally:
        await database.close()


def _measure(found: Site, count: int, goal: str) -> None:
    pause = threading.Event()
    while found.api.get("/health").json()["dependencies"]["watcher"]["status"] != "healthy":
        pause.wait(1)
    pause.wait(INTERVAL_S)  # the first pass notes what it sees; the next ones are the usual ones
    pages, cpu_s, began = _pages(found), found.ostler.cpu_s(), time.perf_counter()
    pause.wait(INTERVAL_S * PASSES)
    seconds = time.perf_counter() - began
    percent = (found.ostler.cpu_s() - cpu_s) / seconds * 100
    calls = (_pages(found) - pages) / PASSES
    seen = f"{percent:.2f} %, {found.ostler.memory_mb():.0f} MB, {calls:.0f} calls a pass"
    Line(f"{count:,} watched instances", goal, seen).show()


def _pages(found: Site) -> int:
    routes = found.sim.get("/_sim/calls").json()["routes"]
    return sum(count for route, count in routes.items() if route.endswith("gpu/instances"))


if __name__ == "__main__":
    main()
