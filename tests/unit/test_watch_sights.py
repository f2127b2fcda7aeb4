"""Interleavings: what a page shows may be older than what is known when it is taken in."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

import pytest

from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.upstream import Listing, Upstream
from ostler.domain.catalogue import BillingMode
from ostler.domain.events import PublicEvent
from ostler.domain.lifecycle import State
from ostler.domain.upstream import UpstreamState
from ostler.usecases.asking import ById
from tests.support.core import SOMEBODY
from tests.support.watching import Watch, a_watch, watch_by

pytestmark = pytest.mark.looptime

_OF_AN_IDLE_PASS = 3  # is the key ours, the list, what the pass was


@dataclass
class HeldCloud:
    """A cloud whose lists arrive only when the test lets them, as they were when they were fetched."""

    cloud: Cloud
    gate: asyncio.Event

    async def list_all(self, *, lane: Lane = Lane.WATCHER) -> Listing:
        listing = await self.cloud.list_all(lane=lane)
        await self.gate.wait()
        return listing

    def __getattr__(self, name: str) -> object:
        return getattr(self.cloud, name)


@dataclass
class RetouchedCloud:
    """A cloud whose lists show one upstream otherwise."""

    cloud: Cloud
    changes: dict[str, object]

    async def list_all(self, *, lane: Lane = Lane.WATCHER) -> Listing:
        listing = await self.cloud.list_all(lane=lane)
        shown = tuple(_retouched(each, self.changes) for each in listing.upstreams)
        return replace(listing, upstreams=shown)

    def __getattr__(self, name: str) -> object:
        return getattr(self.cloud, name)


def _retouched(upstream: Upstream, changes: dict[str, object]) -> Upstream:
    fields = {name: getattr(upstream, name) for name in Upstream.__slots__}
    return Upstream(**{**fields, **changes})


async def watch_through(watch: Watch, cloud: HeldCloud | RetouchedCloud) -> Watch:
    return await watch_by(watch.home, watch.process, cloud=cast("Cloud", cloud))


async def test_a_page_from_before_a_stop_does_not_say_running_after_it() -> None:
    async with a_watch() as watch:
        (stopped,) = await watch.running()
        held = HeldCloud(watch.process.cloud, asyncio.Event())
        late = await watch_through(watch, held)
        looking = asyncio.create_task(late.look())
        await watch.tower.clock.sleep(0.1)
        await watch.process.verbs.stop(ById(stopped.id), SOMEBODY)
        await watch.tower.clock.sleep(60)
        assert (await watch.process.instance(stopped.id)).state is State.EXITED
        held.gate.set()
        await looking
        assert (await watch.process.instance(stopped.id)).state is State.EXITED


async def test_a_page_that_shows_the_old_state_just_after_a_command_means_not_yet() -> None:
    async with a_watch() as watch:
        (stopped,) = await watch.running()
        await watch.process.verbs.stop(ById(stopped.id), SOMEBODY)
        await watch.tower.clock.sleep(0.5)
        old: dict[str, object] = {"state": UpstreamState.RUNNING, "status": "running"}
        await (await watch_through(watch, RetouchedCloud(watch.process.cloud, old))).look()
        assert (await watch.process.instance(stopped.id)).state is State.STOPPING


async def test_a_page_from_before_a_refresh_does_not_turn_the_row_back() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        held = HeldCloud(watch.process.cloud, asyncio.Event())
        late = await watch_through(watch, held)
        looking = asyncio.create_task(late.look())
        await watch.tower.clock.sleep(1)
        await watch.tower.cloud.stop(instance.upstream_id or "")
        await watch.tower.clock.sleep(60)
        await watch.look()
        assert (await watch.process.instance(instance.id)).state is State.EXITED
        held.gate.set()
        await looking
        assert (await watch.process.instance(instance.id)).state is State.EXITED


async def test_a_page_from_before_a_placement_does_not_miss_what_was_placed() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        held = HeldCloud(watch.process.cloud, asyncio.Event())
        late = await watch_through(watch, held)
        looking = asyncio.create_task(late.look())
        await watch.tower.clock.sleep(0.1)
        (other, *_) = await watch.running()
        await watch.tower.clock.sleep(60)
        held.gate.set()
        facts = await looking
        assert facts.missing == ()
        assert (await watch.process.instance(other.id)).state is State.RUNNING
        assert instance.id != other.id


async def test_a_word_that_nobody_knows_keeps_the_state_and_is_told_once() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        odd: dict[str, object] = {"state": UpstreamState.UNKNOWN, "status": "hibernating"}
        strange = await watch_through(watch, RetouchedCloud(watch.process.cloud, odd))
        await strange.looks(30, every=10)
        now = await watch.process.instance(instance.id)
        assert now.state is State.RUNNING
        assert now.upstream_word == "hibernating"
        (told,) = await watch.told(PublicEvent.UPSTREAM_UNKNOWN)
        assert told.instance_id == instance.id


async def test_a_row_of_a_list_that_cannot_be_read_is_not_missing() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.home.simulated.world.instances[instance.upstream_id or ""].price_per_hour = cast("int", "odd")
        await watch.looks(60, every=12)
        assert (await watch.process.instance(instance.id)).state is State.RUNNING
        assert (await watch.state()).suspicion is None


async def test_a_stop_from_elsewhere_is_seen_and_a_start_from_elsewhere_too() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        await watch.tower.cloud.stop(instance.upstream_id or "")
        await watch.looks(40, every=10)
        assert (await watch.process.instance(instance.id)).state is State.EXITED
        await watch.tower.cloud.start(instance.upstream_id or "")
        await watch.looks(40, every=10)
        again = await watch.process.instance(instance.id)
        assert again.state is State.RUNNING
        assert again.starts == 2
        assert len(await watch.told(PublicEvent.USABLE)) == 2


async def test_a_reclaim_notice_is_told_before_it_happens_and_only_once() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        notice = RetouchedCloud(watch.process.cloud, {"reclaim_at": _at(watch, 600)})
        warned = await watch_through(watch, notice)
        await warned.looks(30, every=10)
        assert (await watch.process.instance(instance.id)).reclaim_at == notice.changes["reclaim_at"]
        (told,) = await watch.told(PublicEvent.SPOT_NOTICE)
        assert told.instance_id == instance.id


async def test_a_reclaimed_one_is_exited_and_recovers_by_itself() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        await watch.tower.clock.sleep(1)
        gone: dict[str, object] = {
            "reclaim_at": _at(watch, 0),
            "state": UpstreamState.EXITED,
            "status": "exited",
        }
        await (await watch_through(watch, RetouchedCloud(watch.process.cloud, gone))).look()
        (exited,) = await watch.told(PublicEvent.EXITED)
        assert exited.reason == "spot_reclaimed"
        await watch.tower.clock.sleep(1)
        assert (await watch.told(PublicEvent.MIGRATING)) != []
        assert instance.id == exited.instance_id


async def test_another_price_in_a_list_is_told_once_and_paid_from_then_on() -> None:
    async with a_watch() as watch:
        (instance,) = await watch.running()
        upstream: Upstream = await watch.tower.cloud.get(instance.upstream_id or "", lane=Lane.USER)
        assert upstream.price_per_gpu_hour is not None
        dearer = upstream.price_per_gpu_hour * 2
        odd = await watch_through(watch, RetouchedCloud(watch.process.cloud, {"price_per_gpu_hour": dearer}))
        await odd.looks(30, every=10)
        row = await watch.process.row(instance.id)
        assert row.placement is not None
        assert row.placement.price_per_hour == dearer
        assert len(await watch.told(PublicEvent.OFFER_MISMATCH)) == 1


async def test_what_was_told_in_vain_is_not_told_again_at_every_pass() -> None:
    async with a_watch() as watch:
        await watch.running(3)
        changes: dict[str, object] = {"billing_mode": BillingMode.SPOT}
        odd = await watch_through(watch, RetouchedCloud(watch.process.cloud, changes))
        await odd.looks(20, every=10)
        before = odd.effects()
        await odd.look()
        assert odd.effects() - before == _OF_AN_IDLE_PASS


def _at(watch: Watch, seconds: float) -> datetime:
    return watch.tower.clock.now() + timedelta(seconds=seconds)
