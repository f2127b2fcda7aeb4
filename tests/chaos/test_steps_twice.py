"""Every scene with every body run twice in a row, as an engine may: it must make no difference.

The second run follows at once, with the same rows and the answer of the first forgotten.
"""

import pytest

from ostler.engine.kind import Body, JobContext
from ostler.engine.outcome import Outcome
from tests.support.core import an_installation
from tests.support.endings import assert_ended_well, until_over
from tests.support.scenes import SCENES, Scene

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
async def test_a_scene_ends_well_when_every_body_runs_twice(scene: Scene) -> None:
    async with an_installation() as home:
        home.around = twice
        preparing = await home.process()
        instance_id = await scene.prepare(home, preparing)
        await preparing.stop()
        scene.spoil(home)
        ostler = await home.process()
        instance_id = await scene.ask(ostler, instance_id)
        await until_over(home, ostler, scene, instance_id)
        await assert_ended_well(home, ostler, scene, instance_id)


def twice(body: Body) -> Body:
    """Run a body, forget what it answered, and run it again."""

    async def run(context: JobContext) -> Outcome:
        await body(context)
        return await body(context)

    return run
