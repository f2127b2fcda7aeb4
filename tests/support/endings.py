"""How every scene must end: the waiting for it, and everything that must then be so.

One upstream or none, every operation ended, no number missing in the time line, the ledger open for what
is billed and for nothing else.
"""

from sqlalchemy import Connection

from ostler.store.attempts import has_open_attempt
from ostler.store.ledger import open_intervals
from ostler.store.operations import operations_of
from tests.support.core import Installation, Ostler
from tests.support.scenes import Scene

STEP_S = 3.0
MOST_STEPS = 200


async def is_over(home: Installation, witness: Ostler, scene: Scene, instance_id: str) -> bool:
    """Tell whether a scene has come to its end, here and at the cloud."""
    instance = await witness.instance(instance_id)
    return scene.is_end(instance.state, len(home.alive())) and instance.predecessor_id is None


async def until_over(home: Installation, witness: Ostler, scene: Scene, instance_id: str) -> None:
    """Let time pass, watching, until a scene is over; fail when it does not end."""
    for _ in range(MOST_STEPS):
        if await is_over(home, witness, scene, instance_id):
            return
        await witness.clock.sleep(STEP_S)
        await witness.watch()
    told = [event.name.value for event in await witness.events(instance_id)]
    raise AssertionError(await witness.instance(instance_id), told)


async def assert_ended_well(home: Installation, witness: Ostler, scene: Scene, instance_id: str) -> None:
    """Assert everything that must be so after a scene."""
    assert len(home.ever_billed()) <= scene.ever_made
    events = await witness.events(instance_id)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))

    def look(connection: Connection) -> None:
        operations = [row.operation for row in operations_of(connection, instance_id)]
        assert [each for each in operations if each.is_open] == []
        assert len(open_intervals(connection, instance_id)) == len(home.alive())
        assert not has_open_attempt(connection, instance_id)

    await witness.database.inner.read(look)
