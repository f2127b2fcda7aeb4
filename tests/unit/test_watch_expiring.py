"""The watcher warns once, a day before the cloud wipes the disk of what is stopped."""

import pytest

from ostler.domain.events import PublicEvent
from ostler.domain.lifecycle import State
from ostler.usecases.asking import ById
from tests.support.core import SOMEBODY
from tests.support.watching import Watch, a_watch, watch_by

pytestmark = pytest.mark.looptime
HOUR_S = 3600


async def stopped(watch: Watch, hours_left: int) -> str:
    """Have an instance stopped whose disk the cloud keeps for so long; return its id."""
    [instance] = await watch.running()
    await watch.process.verbs.stop(ById(instance.id), SOMEBODY)
    await watch.looks(60, every=10)
    assert (await watch.process.instance(instance.id)).state is State.EXITED
    world = watch.home.simulated.world
    world.instances[instance.upstream_id or ""].release_data_at = world.now + hours_left * HOUR_S
    return instance.id


async def test_a_disk_that_is_wiped_within_a_day_is_warned_of_once() -> None:
    async with a_watch() as watch:
        instance_id = await stopped(watch, hours_left=23)
        await watch.looks(30, every=10)
        [warning] = await watch.told(PublicEvent.DATA_EXPIRING)
        assert warning.instance_id == instance_id
        assert "dataExpiresAt" in warning.details


async def test_a_disk_that_is_kept_for_longer_is_not_warned_of() -> None:
    async with a_watch() as watch:
        await stopped(watch, hours_left=25)
        await watch.looks(30, every=10)
        assert await watch.told(PublicEvent.DATA_EXPIRING) == []


async def test_what_was_told_by_another_watcher_is_not_told_again() -> None:
    async with a_watch() as watch:
        await stopped(watch, hours_left=23)
        await watch.looks(10, every=10)
        other = await watch_by(watch.home, watch.process)
        await other.looks(10, every=10)
        assert len(await watch.told(PublicEvent.DATA_EXPIRING)) == 1
