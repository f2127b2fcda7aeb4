"""The startup clock: it warns while the image is pulled, ends a start, and rests while nobody can see."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ostler.cloud.refusals import Unavailable
from ostler.domain.events import PublicEvent
from ostler.domain.failures import FailureCode
from ostler.domain.lifecycle import State
from ostler.domain.spec import InstanceSpec, OnFailure
from ostler.simulator.durations import Durations
from tests.support.core import a_wish
from tests.support.simulator import server_error
from tests.support.watching import Watch, a_watch, watch_by

pytestmark = pytest.mark.looptime

LIMIT = timedelta(minutes=2)


def impatient(on_failure: OnFailure = OnFailure.KEEP) -> InstanceSpec:
    return replace(a_wish(), startup_timeout=LIMIT, on_failure=on_failure)


def slow(watch: Watch, durations: Durations) -> None:
    """Let steps of a start take long."""
    watch.home.simulated.world.durations = durations


SLOW_PULL = Durations(spread=0.0, pulling_s=10_000, pulling_cached_s=10_000)
NO_NODE = Durations(spread=0.0, creating_s=10_000)


async def test_a_start_that_is_not_over_in_time_has_failed() -> None:
    async with a_watch() as watch:
        slow(watch, NO_NODE)
        accepted = await watch.process.accept(impatient())
        await watch.looks(110, every=5)
        assert (await watch.process.instance(accepted.instance_id)).state is State.STARTING
        await watch.looks(20, every=5)
        failed = await watch.process.instance(accepted.instance_id)
        assert failed.state is State.FAILED
        assert failed.error is not None
        assert failed.error.code is FailureCode.STARTUP_TIMEOUT
        assert failed.error.still_billed
        assert await watch.told(PublicEvent.LIMIT_WARNING) == []


async def test_a_create_that_failed_so_is_deleted_by_default() -> None:
    async with a_watch() as watch:
        slow(watch, NO_NODE)
        accepted = await watch.process.accept(impatient(OnFailure.DELETE))
        await watch.looks(200, every=5)
        assert (await watch.process.instance(accepted.instance_id)).state is State.TERMINATED
        assert watch.home.alive() == []


async def test_while_its_image_is_pulled_the_end_of_the_clock_only_warns_once() -> None:
    async with a_watch() as watch:
        slow(watch, SLOW_PULL)
        accepted = await watch.process.accept(impatient())
        await watch.looks(240, every=10)
        assert (await watch.process.instance(accepted.instance_id)).state is State.STARTING
        (told,) = await watch.told(PublicEvent.LIMIT_WARNING)
        assert told.instance_id == accepted.instance_id
        heir = await watch_by(watch.home, watch.process)
        await heir.looks(30, every=10)
        assert len(await watch.told(PublicEvent.LIMIT_WARNING)) == 1
        await heir.looks(120, every=10)
        assert (await watch.process.instance(accepted.instance_id)).state is State.FAILED


async def test_nobody_is_failed_while_the_cloud_cannot_be_seen() -> None:
    async with a_watch() as watch:
        slow(watch, NO_NODE)
        accepted = await watch.process.accept(impatient())
        await watch.looks(20, every=5)
        watch.home.simulated.share_of_calls("GET *", server_error(), share=1.0)
        await watch.tower.clock.sleep(300)
        with pytest.raises(Unavailable):
            await watch.look()
        assert (await watch.process.instance(accepted.instance_id)).state is State.STARTING
