"""The watcher on the twin, by itself: an instance lives its life while nobody else looks at the cloud."""

import pytest

from ostler.domain.lifecycle import State
from ostler.usecases.asking import ById
from ostler.watch.account import Account
from ostler.watch.watcher import Watcher
from tests.support.core import SOMEBODY, Ostler, a_wish, an_installation
from tests.support.watching import DIGEST, a_tower, led

pytestmark = pytest.mark.looptime


async def reached(process: Ostler, instance_id: str, state: State, within_s: float = 300) -> float:
    """Return after how long an instance came to a state."""
    began = process.clock.monotonic()
    while (await process.instance(instance_id)).state is not state:
        assert process.clock.monotonic() - began < within_s, await process.instance(instance_id)
        await process.clock.sleep(0.1)
    return process.clock.monotonic() - began


async def test_a_watcher_carries_an_instance_from_create_to_delete() -> None:
    async with an_installation() as home:
        process = await home.process()
        tower = a_tower(process)
        async with led(process, Watcher(tower, Account(process.recorder, DIGEST))):
            accepted = await process.accept(a_wish())
            await reached(process, accepted.instance_id, State.RUNNING)
            await process.verbs.stop(ById(accepted.instance_id), SOMEBODY)
            await reached(process, accepted.instance_id, State.EXITED)
            await process.verbs.delete(ById(accepted.instance_id), SOMEBODY)
            await reached(process, accepted.instance_id, State.TERMINATED)
        assert home.alive() == []
