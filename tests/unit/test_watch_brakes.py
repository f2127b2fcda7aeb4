"""Brakes hold from the watcher's pass: time to live, cost and idleness, told before and once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ostler.cloud.refusals import Unavailable
from ostler.domain.events import PublicEvent
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.patch_requests import parse_patch
from ostler.domain.phases import StopReason, Wanted
from ostler.domain.spec import InstanceSpec, Limits, OnLimit
from ostler.simulator.account.kinds import set_gpu_use
from ostler.usecases.asking import ById
from ostler.usecases.change import ChangeInstance
from tests.support.core import SOMEBODY, a_wish
from tests.support.simulator import server_error
from tests.support.watching import Watch, a_watch

pytestmark = pytest.mark.looptime

PRICE = 35_000  # units per hour of what is wished for


def limited(limits: Limits) -> InstanceSpec:
    return replace(a_wish(), limits=limits)


async def running(watch: Watch, limits: Limits) -> str:
    accepted = await watch.process.accept(limited(limits))
    await watch.looks(60, every=10)
    assert await state_of(watch, accepted.instance_id) is State.RUNNING
    return accepted.instance_id


async def state_of(watch: Watch, instance_id: str) -> State:
    return (await watch.process.instance(instance_id)).state


async def warnings_of(watch: Watch) -> list[object]:
    return [event.details["limit"] for event in await watch.told(PublicEvent.LIMIT_WARNING)]


def use_gpus(watch: Watch, percent: float) -> None:
    for upstream_id in watch.home.alive():
        set_gpu_use(watch.home.simulated.world, upstream_id, percent)


@pytest.mark.parametrize(
    ("on_limit", "end"), [(OnLimit.STOP, State.EXITED), (OnLimit.DELETE, State.TERMINATED)]
)
async def test_what_has_lived_its_time_is_stopped_or_deleted_and_that_is_told_before(
    on_limit: OnLimit, end: State
) -> None:
    async with a_watch() as watch:
        instance_id = await running(watch, Limits(ttl=timedelta(minutes=20), on_limit=on_limit))
        await watch.looks(13 * 60, every=60)
        assert await warnings_of(watch) == []
        await watch.looks(5 * 60, every=60)
        assert await warnings_of(watch) == ["ttlSeconds"]
        assert await state_of(watch, instance_id) is State.RUNNING
        await watch.looks(5 * 60, every=60)
        ended = await watch.process.instance(instance_id)
        assert ended.state is end
        assert await warnings_of(watch) == ["ttlSeconds"]
        if end is State.EXITED:
            assert (ended.stop_reason, ended.wanted) == (StopReason.TTL, Wanted.STOPPED)


async def test_what_has_cost_its_limit_is_stopped_while_the_cloud_shows_nothing() -> None:
    async with a_watch() as watch:
        instance_id = await running(watch, Limits(max_cost=Usd(PRICE // 2)))
        watch.home.simulated.share_of_calls("GET *", server_error(503), 1.0)
        for _ in range(40):
            await watch.tower.clock.sleep(60)
            with pytest.raises(Unavailable):
                await watch.look()
            await watch.passes.hold_brakes(watch.term)
        stopping = await watch.process.instance(instance_id)
        assert stopping.state is State.STOPPING
        assert stopping.stop_reason is StopReason.BUDGET
        assert await warnings_of(watch) == ["maxCost"]


async def test_a_limit_that_was_extended_in_time_is_a_new_one() -> None:
    async with a_watch() as watch:
        instance_id = await running(watch, Limits(ttl=timedelta(minutes=10)))
        await watch.looks(6 * 60, every=60)
        change = ChangeInstance(watch.process.database, watch.process.recorder, watch.process.clock)
        await change.patch(ById(instance_id), SOMEBODY, parse_patch({"ttlSeconds": 3600}))
        await watch.looks(40 * 60, every=120)
        assert await state_of(watch, instance_id) is State.RUNNING
        await watch.looks(20 * 60, every=120)
        assert await state_of(watch, instance_id) is State.EXITED
        assert await warnings_of(watch) == ["ttlSeconds", "ttlSeconds"]


async def test_what_nobody_uses_is_stopped_once_its_gpus_were_still() -> None:
    async with a_watch() as watch:
        instance_id = await running(watch, Limits(idle_stop=timedelta(minutes=30)))
        use_gpus(watch, 62.0)
        await watch.looks(60 * 60, every=120)
        assert await state_of(watch, instance_id) is State.RUNNING
        use_gpus(watch, 1.0)
        await watch.looks(40 * 60, every=120)
        stopped = await watch.process.instance(instance_id)
        assert stopped.state is State.EXITED
        assert stopped.stop_reason is StopReason.IDLE
        assert len(await watch.told(PublicEvent.IDLE)) == 1


async def test_a_mark_of_use_holds_the_idle_stop_off() -> None:
    async with a_watch() as watch:
        instance_id = await running(watch, Limits(idle_stop=timedelta(minutes=30)))
        use_gpus(watch, 0.0)
        change = ChangeInstance(watch.process.database, watch.process.recorder, watch.process.clock)
        for _ in range(4):
            await watch.looks(20 * 60, every=120)
            await change.mark_used(instance_id, SOMEBODY)
        assert await state_of(watch, instance_id) is State.RUNNING
