"""Crowds at one process: who waits reads no rows for himself, all hear of a change, a stop lets all go.

The full figures, for 5 000 followers and 10 000 long polls, are printed by `make bench ARGS=crowds`.
"""

import asyncio
import os
import re
from pathlib import Path

from tests.support.crowd import Crowd, Member, all_told
from tests.support.home import Details, Home, at_home, until
from tests.support.server import ADMIN_KEY

FOLLOWERS = 500
WAITERS = 1_000
MOST_READS = 500  # of all that goes on meanwhile; one each would be 1 500
MOST_BYTES_EACH = 150_000
_READS = re.compile(r'^ostler_database_transaction_duration_seconds_count\{access="read",.*\} (\S+)$', re.M)


def reads(home: Home) -> float:
    return sum(float(each) for each in _READS.findall(home.api.get("/metrics").text))


def rss_bytes(home: Home) -> int:
    pages = Path(f"/proc/{home.server.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def waiting(home: Home, crowd: Crowd, path: str) -> list[Member]:
    """Return the waiters once the server has taken in all of them."""
    waiters = await crowd.waiting([path] * WAITERS)

    def look() -> Details:
        return {"areAllIn": f"ostler_waiters {float(WAITERS)}" in home.api.get("/metrics").text}

    await asyncio.to_thread(until, look, lambda found: bool(found["areAllIn"]))
    return waiters


async def test_a_crowd_hears_of_a_change_without_reading_each_for_itself(tmp_path: Path) -> None:
    with at_home(tmp_path, LOG_LEVEL="warning") as home:
        instance_id = home.running()
        async with Crowd(home.server.url, ADMIN_KEY) as crowd:
            alone = rss_bytes(home)
            followers = await crowd.following(FOLLOWERS)
            waiters = await waiting(home, crowd, f"/api/instances/{instance_id}?waitFor=exited")
            assert rss_bytes(home) - alone < MOST_BYTES_EACH * len(crowd.members)
            before = reads(home)
            await asyncio.to_thread(home.asked, instance_id, "stop")
            await all_told(followers, b"event: instance.exited")
            await all_told(waiters, b'"waited":"reached"')
            assert reads(home) - before < MOST_READS


async def test_a_stop_answers_all_who_wait_and_ends_all_streams(tmp_path: Path) -> None:
    with at_home(tmp_path, LOG_LEVEL="warning") as home:
        instance_id = home.running()
        async with Crowd(home.server.url, ADMIN_KEY) as crowd:
            followers = await crowd.following(20)
            waiters = await crowd.waiting([f"/api/instances/{instance_id}?waitFor=exited"] * 20)
            events = await crowd.waiting(["/api/events?waitFor=changed&after=0&event=instance.idle"] * 20)
            seen = {"ostler_waiters 20.0", "ostler_feed_followers 40.0"}

            def look() -> Details:
                figures = home.api.get("/metrics").text.splitlines()
                return {"areAllIn": seen <= set(figures)}

            await asyncio.to_thread(until, look, lambda found: bool(found["areAllIn"]))
            assert await asyncio.to_thread(home.server.stop) == 0
            await all_told([*waiters, *events], b'"waited":"timeout"')
            await asyncio.gather(*(member.ended() for member in crowd.members))
            assert {member.heard[-5:] for member in followers} == {b"0\r\n\r\n"}  # the end of a whole answer
            assert home.server.entries() == []
