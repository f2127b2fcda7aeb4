"""What a pass misses: when an upstream counts as gone, and when nothing is concluded."""

from dataclasses import replace
from typing import cast

import pytest

from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.upstream import Listing
from ostler.domain.events import PublicEvent
from ostler.domain.lifecycle import State
from ostler.store.watch_state import Suspicion
from ostler.usecases.asking import ById
from ostler.watch.account import AccountDesk
from tests.support.core import SOMEBODY, a_wish
from tests.support.simulator import late_in_lists, server_error
from tests.support.watching import a_watch, watch_by

pytestmark = pytest.mark.looptime

GET = "GET */gpu/instance"


class HalfALister:
    """A cloud whose lists never prove that they are complete."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    async def list_all(self, *, lane: Lane = Lane.WATCHER) -> Listing:
        return replace(await self._cloud.list_all(lane=lane), is_complete=False)

    def __getattr__(self, name: str) -> object:
        return getattr(self._cloud, name)


async def test_one_that_is_missing_is_gone_after_two_passes_and_two_gets_ten_seconds_apart() -> None:
    async with a_watch() as watch:
        (lost,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.lose(lost)
        await watch.look()
        await watch.tower.clock.sleep(9)
        await watch.look()
        assert (await watch.process.instance(lost.id)).state is State.RUNNING
        await watch.tower.clock.sleep(2)
        await watch.look()
        gone = await watch.process.instance(lost.id)
        assert gone.state is State.TERMINATED
        assert (await watch.told(PublicEvent.TERMINATED))[0].reason == "the cloud says that it is gone"


async def test_one_that_a_get_finds_is_there_although_lists_do_not_show_it() -> None:
    async with a_watch() as watch:
        (hidden,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.hide(hidden)
        await watch.looks(60)
        assert (await watch.process.instance(hidden.id)).state is State.RUNNING


async def test_what_was_placed_just_now_may_be_missing_from_lists_and_gets() -> None:
    async with a_watch() as watch:
        watch.home.simulated.next_create(late_in_lists(25))
        accepted = await watch.process.accept(a_wish())
        await watch.looks(24, every=2)
        assert (await watch.process.instance(accepted.instance_id)).state is not State.TERMINATED


async def test_a_failed_get_says_nothing() -> None:
    async with a_watch() as watch:
        (lost,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.lose(lost)
        watch.home.simulated.share_of_calls(GET, server_error(), share=1.0)
        await watch.looks(60)
        assert (await watch.process.instance(lost.id)).state is State.RUNNING


async def test_a_list_that_is_not_complete_proves_no_absence() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(2)
        await watch.tower.clock.sleep(60)
        watch.lose(fleet[0])
        half = cast("Cloud", HalfALister(watch.process.cloud))
        await (await watch_by(watch.home, watch.process, cloud=half)).looks(60)
        assert await watch.states(fleet) == [State.RUNNING] * 2


async def test_one_that_is_seen_again_has_to_be_missed_anew() -> None:
    async with a_watch() as watch:
        (lost,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.lose(lost)
        await watch.look()
        watch.find(lost)
        await watch.tower.clock.sleep(11)
        await watch.look()
        watch.lose(lost)
        await watch.tower.clock.sleep(11)
        await watch.look()
        assert (await watch.process.instance(lost.id)).state is State.RUNNING


async def test_a_new_watcher_begins_to_count_anew() -> None:
    async with a_watch() as watch:
        (lost,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.lose(lost)
        await watch.look()
        await watch.tower.clock.sleep(11)
        heir = await watch_by(watch.home, watch.process)
        await heir.look()
        assert (await watch.process.instance(lost.id)).state is State.RUNNING
        await heir.looks(22, every=11)
        assert (await watch.process.instance(lost.id)).state is State.TERMINATED


async def test_a_delete_that_the_cloud_had_accepted_ends_with_one_not_found() -> None:
    async with a_watch() as watch:
        (doomed,) = await watch.running()
        await watch.tower.clock.sleep(60)
        await watch.process.verbs.delete(ById(doomed.id), SOMEBODY)
        await watch.looks(60)
        assert (await watch.process.instance(doomed.id)).state is State.TERMINATED
        assert (await watch.told(PublicEvent.ACCOUNT_SUSPECT)) == []


async def test_a_list_that_lost_half_the_fleet_at_once_concludes_nothing_and_is_an_alarm_once() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(10)
        await watch.tower.clock.sleep(60)
        watch.lose(*fleet[::2])
        await watch.looks(120, every=15)
        assert await watch.states(fleet) == [State.RUNNING] * 10
        (alarm,) = await watch.told(PublicEvent.ACCOUNT_SUSPECT)
        assert alarm.is_alarm
        assert alarm.details == {"suspicion": "loss", "missing": 5}
        assert (await watch.state()).suspicion is Suspicion.LOSS
        watch.find(*fleet[::2])
        await watch.look()
        assert (await watch.state()).suspicion is None


async def test_a_confirmed_loss_is_believed() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(10)
        await watch.tower.clock.sleep(60)
        watch.lose(*fleet[::2])
        await watch.look()
        await AccountDesk(watch.process.database, watch.account).confirm()
        await watch.looks(36, every=12)
        found = await watch.states(fleet)
        assert found.count(State.TERMINATED) == 5
        assert (await watch.state()).suspicion is None


async def test_a_loss_that_grew_after_it_was_confirmed_is_suspect_again() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(20)
        await watch.tower.clock.sleep(60)
        watch.lose(*fleet[::2])
        await watch.look()
        await AccountDesk(watch.process.database, watch.account).confirm()
        watch.lose(*fleet[1::4])
        await watch.looks(36, every=12)
        assert State.TERMINATED not in await watch.states(fleet)
        assert (await watch.state()).suspicion is Suspicion.LOSS


async def test_a_slow_loss_is_no_suspicion() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(10)
        await watch.tower.clock.sleep(60)
        for each in fleet[:6]:
            watch.lose(each)
            await watch.tower.clock.sleep(12)
            await watch.look()
        await watch.looks(36, every=12)
        found = await watch.states(fleet)
        assert found.count(State.TERMINATED) == 6
        assert await watch.told(PublicEvent.ACCOUNT_SUSPECT) == []


async def test_a_new_watcher_does_not_take_what_was_missing_before_for_a_new_loss() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(10)
        await watch.tower.clock.sleep(60)
        for each in fleet[:4]:
            watch.lose(each)
            await watch.look()
        heir = await watch_by(watch.home, watch.process)
        await heir.look()
        assert await watch.told(PublicEvent.ACCOUNT_SUSPECT) == []
