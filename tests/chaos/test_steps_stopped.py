"""Every scene with a process that is stopped after each write and each call to the cloud, in turn.

The client repeats what it asked, as clients do; the next process finds the rows. Every time it must end
well: one upstream or none, every operation ended, no number missing in the time line, no interval left
open.
"""

import asyncio

import pytest

from tests.support.core import Ostler, an_installation
from tests.support.endings import MOST_STEPS, STEP_S, assert_ended_well, is_over, until_over
from tests.support.scenes import SCENES, Scene

pytestmark = pytest.mark.looptime

_MOST_EFFECTS = 100


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
@pytest.mark.timeout(600)
async def test_a_scene_ends_well_wherever_its_process_was_stopped(scene: Scene) -> None:
    for after in range(1, _MOST_EFFECTS):
        if not await _was_stopped(scene, after):
            return
    raise AssertionError(scene.name)


async def _was_stopped(scene: Scene, after: int) -> bool:
    """Play a scene with a process that stops after so many effects; tell whether it came so far."""
    async with an_installation() as home:
        preparing = await home.process()
        instance_id = await scene.prepare(home, preparing)
        await preparing.stop()
        scene.spoil(home)
        witness = home.witness()
        doomed = await home.process(dies_after=after)
        instance_id = await _asked(scene, doomed, instance_id)
        for _ in range(MOST_STEPS):
            if doomed.database.stop_point.is_dead or (
                instance_id and await is_over(home, witness, scene, instance_id)
            ):
                break
            await witness.clock.sleep(STEP_S)
            await witness.watch()
        was_stopped = doomed.database.stop_point.is_dead
        await doomed.kill()
        heir = await home.process()
        instance_id = await scene.ask(heir, instance_id)
        await until_over(home, witness, scene, instance_id)
        await assert_ended_well(home, witness, scene, instance_id)
        return was_stopped


async def _asked(scene: Scene, ostler: Ostler, instance_id: str) -> str:
    try:
        return await scene.ask(ostler, instance_id)
    except asyncio.CancelledError:  # the process died under the request
        return instance_id
