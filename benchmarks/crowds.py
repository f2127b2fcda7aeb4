"""What those cost who wait: 5 000 followers of the live events, then 10 000 long polls, at one process.

A real server with its simulated cloud runs in a process of its own. Printed are its memory and its CPU, how
often it reads its database while all wait, how soon all hear of one change, and how soon it stops under them.
"""

import asyncio
import os
import re
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ostler.assembly.connection import allow_most_files
from tests.support.crowd import Crowd, Member, all_told
from tests.support.home import Details, Home, at_home, until
from tests.support.server import ADMIN_KEY

FOLLOWERS = 5_000
WAITERS = 10_000
QUIET_S = 10
_TICKS = os.sysconf("SC_CLK_TCK")
_READS = re.compile(
    r'^ostler_database_transaction_duration_seconds_count\{access="read",.*\} (\S+)$', re.MULTILINE
)


def main() -> None:
    """Measure and print."""
    allow_most_files()
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder), LOG_LEVEL="warning") as home:
        asyncio.run(_measure(home))


async def _measure(home: Home) -> None:
    instance_id = home.running()
    print(f"{'':44}{'RSS MB':>10}{'CPU % idle':>12}{'reads/s idle':>14}{'KB each':>10}")
    alone = await _look(home, "nobody waits", 0, None)
    crowd = Crowd(home.server.url, ADMIN_KEY)
    followers = await crowd.following(FOLLOWERS)
    followed = await _look(home, f"{FOLLOWERS} followers", FOLLOWERS, alone)
    path = f"/api/instances/{instance_id}?waitFor=exited&timeoutSeconds=120"
    waiters = await crowd.waiting([path] * WAITERS)
    await _until_all_wait(home)
    await _look(home, f"and {WAITERS} long polls", WAITERS, followed)
    await _tell(home, instance_id, followers, waiters)
    for member in waiters:
        member.asks(f"/api/instances/{instance_id}?waitFor=changed&timeoutSeconds=120")
    await _until_all_wait(home)
    await _stop(home, crowd.members)


@dataclass(frozen=True, slots=True)
class Look:
    """What the server has used so far."""

    rss_bytes: int
    cpu_s: float
    reads: float


def _used(home: Home) -> Look:
    folder = Path(f"/proc/{home.server.process.pid}")
    pages = int((folder / "statm").read_text().split()[1])
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    reads = sum(float(each) for each in _READS.findall(home.api.get("/metrics").text))
    return Look(pages * os.sysconf("SC_PAGE_SIZE"), (int(fields[11]) + int(fields[12])) / _TICKS, reads)


async def _look(home: Home, name: str, count: int, before: Look | None) -> Look:
    first = _used(home)
    await asyncio.sleep(QUIET_S)  # noqa: TID251 -- what a time of quiet costs
    last = _used(home)
    cpu = (last.cpu_s - first.cpu_s) / QUIET_S * 100
    reads = (last.reads - first.reads) / QUIET_S
    each = f"{(last.rss_bytes - before.rss_bytes) / count / 1024:>10.1f}" if before else ""
    print(f"{name:44}{last.rss_bytes / 1e6:>10.0f}{cpu:>12.1f}{reads:>14.1f}{each}", flush=True)
    return last


async def _until_all_wait(home: Home) -> None:
    def look() -> Details:
        return {"isSo": f"ostler_waiters {float(WAITERS)}" in home.api.get("/metrics").text}

    await asyncio.to_thread(until, look, lambda found: bool(found["isSo"]))


async def _tell(home: Home, instance_id: str, followers: Sequence[Member], waiters: Sequence[Member]) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    stopping = asyncio.create_task(asyncio.to_thread(home.asked, instance_id, "stop"))
    heard = await all_told(followers, b"event: instance.stopping")
    _print_spread(f"a change is heard by {len(heard)} followers", began, heard)
    heard = await all_told(followers, b"event: instance.exited")
    answered = await all_told(waiters, b'"waited":"reached"')
    _print_spread(f"{len(answered)} long polls are answered after", min(heard), answered)
    await stopping


def _print_spread(name: str, began: float, instants: Sequence[float]) -> None:
    spread = [(each - began) * 1000 for each in instants]
    cuts = statistics.quantiles(spread, n=100)
    print(f"{name:44}p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms, last {max(spread):.0f} ms", flush=True)


async def _stop(home: Home, everybody: Sequence[Member]) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    ending = asyncio.gather(*(member.ended() for member in everybody))
    code = await asyncio.to_thread(home.server.stop)
    stopped_at = loop.time()
    _print_spread(f"a stop lets {len(everybody)} go", began, await ending)
    print(f"{'the process has ended after':44}{stopped_at - began:.1f} s with code {code}")
