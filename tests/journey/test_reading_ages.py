"""How old what is read may be: hardly older than a pass, while the cloud answers; no read waits for it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from ostler.api.routes.instance_answers import summary_of
from ostler.domain.lifecycle import State
from ostler.usecases.asking import ById
from ostler.usecases.listing import ListWish
from ostler.usecases.picture import STALE_AFTER
from ostler.usecases.reading import Reading
from ostler.usecases.row_views import DETAILS, STATES, RowViews
from ostler.watch.account import Account
from ostler.watch.standing import WatchStanding
from ostler.watch.watcher import Watcher
from tests.support.core import SOMEBODY, Installation, Ostler, a_wish, an_installation
from tests.support.simulator import server_error
from tests.support.watching import CONFIG, DIGEST, a_tower, a_watch, led

pytestmark = pytest.mark.looptime

_LONGEST_PASS = timedelta(seconds=2)


@asynccontextmanager
async def watched(home: Installation, interval: timedelta) -> AsyncIterator[tuple[Ostler, WatchStanding]]:
    """Watch as a server does, for a block."""
    process = await home.process()
    config = replace(CONFIG, slow=interval)
    standing = WatchStanding(process.database, process.clock, config)
    following = asyncio.create_task(standing.run())
    async with led(process, Watcher(a_tower(process, config), Account(process.recorder, DIGEST))):
        yield process, standing
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following


async def running(process: Ostler, name: str = "demo") -> str:
    """Have an instance that runs, and let things come to rest."""
    accepted = await process.accept(a_wish(name))
    await process.until(accepted.instance_id, State.RUNNING)
    await process.clock.sleep(120)
    return accepted.instance_id


async def test_what_is_shown_is_never_older_than_the_interval_and_a_pass() -> None:
    interval = timedelta(seconds=30)
    async with an_installation() as home, watched(home, interval) as (process, standing):
        instance_id = await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture)
        ages = []
        for _ in range(600):
            await process.clock.sleep(1)
            details = await reading.details(ById(instance_id), SOMEBODY)
            assert details.age is not None
            ages.append(details.age)
    assert max(ages) <= interval + _LONGEST_PASS
    assert max(ages) > timedelta(seconds=20)  # the passes alone keep it fresh


async def test_between_rare_passes_each_read_of_what_is_old_has_it_renewed_behind_its_back() -> None:
    async with an_installation() as home, watched(home, timedelta(seconds=300)) as (process, standing):
        instance_id = await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture)
        ages = []
        for _ in range(900):
            await process.clock.sleep(1)
            began = process.clock.monotonic()
            details = await reading.details(ById(instance_id), SOMEBODY)
            assert process.clock.monotonic() == began  # no wait: the cloud was not asked for it
            assert details.age is not None
            ages.append(details.age)
    assert max(ages[1:]) <= STALE_AFTER + _LONGEST_PASS


async def listed(reading: Reading, wish: ListWish) -> datetime | None:
    """Return when the only instance of a list was last confirmed, as the list shows it."""
    found = await reading.page(wish)
    assert found.page is not None
    return summary_of(found.page.instances[0], found.picture).observed_at


async def test_between_rare_passes_reads_of_old_lists_share_one_more_pass() -> None:
    async with an_installation() as home, watched(home, timedelta(seconds=300)) as (process, standing):
        await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture, standing.renew)
        ages, passes = [], set()
        known = await reading.heading(ListWish())
        for _ in range(900):
            await process.clock.sleep(1)
            if not reading.is_page_as_it_was(known):  # what is remembered has it renewed as well
                known = await reading.heading(ListWish())
            observed_at = await listed(reading, ListWish())
            assert observed_at is not None
            ages.append(process.clock.now() - observed_at)
            passes.add(standing.picture())
    assert max(ages[1:]) <= STALE_AFTER + _LONGEST_PASS
    assert 25 <= len(passes) <= 32


async def test_nobody_asks_for_the_pass_that_is_under_way_anyhow() -> None:
    async with an_installation() as home, watched(home, STALE_AFTER) as (process, standing):
        await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture, standing.renew)
        for _ in range(6000):
            await process.clock.sleep(0.05)
            await reading.heading(ListWish())
    assert standing.known.asked == 0


async def test_readers_do_not_hurry_a_cloud_that_is_down() -> None:
    async with an_installation() as home, watched(home, timedelta(seconds=300)) as (process, standing):
        await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture, standing.renew)
        home.simulated.next_call("*", server_error(503), times=10_000)
        for _ in range(600):
            await process.clock.sleep(1)
            await reading.heading(ListWish())
    assert 10 <= standing.known.failures <= 25


async def test_a_list_shows_a_look_at_one_that_is_newer_than_the_pass() -> None:
    async with an_installation() as home, watched(home, timedelta(seconds=300)) as (process, standing):
        instance_id = await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture)
        await reading.details(ById(instance_id), SOMEBODY)
        tag = (await reading.heading(ListWish())).tag
        await process.clock.sleep(10)
        details = await reading.details(ById(instance_id), SOMEBODY)
        assert await listed(reading, ListWish()) == details.observed_at
        assert (await reading.heading(ListWish())).tag != tag


async def test_what_the_cloud_does_not_show_any_more_is_as_old_as_when_it_last_did() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(5)
        await watch.looks(600)
        watch.hide(fleet[0])
        state = await watch.state()
        await watch.look()
        row = await watch.process.instance(fleet[0].id)
    assert row.observed_at == state.confirmed_at


async def test_while_the_cloud_is_down_the_age_grows_and_is_told() -> None:
    async with an_installation() as home, watched(home, timedelta(seconds=30)) as (process, standing):
        instance_id = await running(process)
        reading = Reading(process.database, process.recorder, process.clock, standing.picture)
        views = RowViews(process.database, reading, standing.picture, process.clock)
        home.simulated.next_call("*", server_error(503), times=10_000)
        before = (await views.stats())[DETAILS]
        await process.clock.sleep(600)
        details = await reading.details(ById(instance_id), SOMEBODY)
        await reading.heading(ListWish())
        after = await views.stats()
    assert details.row.instance.state is State.RUNNING
    assert details.age is not None
    assert details.age > timedelta(seconds=570)
    assert (before.size, before.fresh) == (1, 1)
    assert (after[DETAILS].fresh, after[STATES].size) == (0, 1)
    assert after[DETAILS].oldest == details.age
    assert (after[DETAILS].lookups.misses, after[STATES].lookups.misses) == (1, 1)
