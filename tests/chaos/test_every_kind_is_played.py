"""The scenes of the scaffolds play every kind of work that Ostler has: a new kind must come with a scene.

Kinds are found wherever a module of ours declares them; what was played is read from the rows of jobs.
"""

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest
from sqlalchemy import Connection, select

import ostler
from ostler.engine.kind import Kind
from ostler.store.jobs import jobs
from tests.support.core import an_installation
from tests.support.endings import until_over
from tests.support.scenes import SCENES, Scene

pytestmark = pytest.mark.looptime

WITHOUT_SCENE = {
    "audit.clean_up": "removes lines of the audit log that are old, and touches nothing else",
    "secrets.reseal": "reads no instance and calls no cloud; tests/contract/test_reseal.py stops it anywhere",
    "webhooks.clean_up": "removes rows of deliveries that ended a week ago, and touches nothing else",
}
_NOT_TO_BE_IMPORTED = "ostler.store.migrations"  # they migrate when they are imported


async def test_every_kind_of_work_is_played_by_a_scene() -> None:
    declared = {kind.name for kind in _declared()}
    assert set(WITHOUT_SCENE) <= declared
    played = {kind for scene in SCENES if not scene.faults for kind in await _played(scene)}
    assert declared - played == set(WITHOUT_SCENE)


async def _played(scene: Scene) -> set[str]:
    """Play a scene with nobody dying; return the kinds of the jobs that it had done."""
    async with an_installation() as home:
        process = await home.process()
        instance_id = await scene.prepare(home, process)
        await process.stop()
        heir = await home.process()
        instance_id = await scene.ask(heir, instance_id)
        await until_over(home, heir, scene, instance_id)
        return await heir.database.read(_kinds_begun)


def _kinds_begun(connection: Connection) -> set[str]:
    return set(connection.scalars(select(jobs.c.kind).where(jobs.c.lease_epoch > 0)))


def _declared() -> Iterator[Kind]:
    for found in pkgutil.walk_packages(ostler.__path__, "ostler."):
        if found.name.startswith(_NOT_TO_BE_IMPORTED):
            continue
        for value in vars(import_module(found.name)).values():
            several = value.values() if isinstance(value, Mapping) else [value]
            yield from (each for each in several if isinstance(each, Kind))
