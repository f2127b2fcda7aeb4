"""The clean-up of deliveries: what ended long ago goes, the rest stays; run by the engine in virtual time."""

from datetime import timedelta

import pytest

from ostler.engine.config import EngineConfig
from ostler.engine.engine import Engine
from ostler.notify.clean_up import CLEAN_UP, CleanUp
from tests.support.webhook_world import SELDOM, TAKEN, always, making_world

pytestmark = pytest.mark.looptime
UNHURRIED = EngineConfig("one", term=SELDOM, shortest_poll=SELDOM, longest_poll=SELDOM)
DAY_S = 24 * 3600


async def test_a_delivery_can_be_replayed_for_a_week_and_is_then_removed() -> None:
    async with making_world() as world:
        await world.start(always(TAKEN))
        for number in range(3):
            await world.tell(f"e{number}")
        engine = Engine(world.database, world.clock, UNHURRIED)
        await engine.start({CLEAN_UP: CleanUp()})
        await world.clock.sleep(6.9 * DAY_S)
        kept = await world.deliveries()
        await world.clock.sleep(0.5 * DAY_S)
        left = await world.deliveries()
        await engine.stop()
    assert (len(kept), left) == (3, [])
    assert CLEAN_UP.every is not None
    assert CLEAN_UP.every < timedelta(days=1)
