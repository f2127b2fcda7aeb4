"""Stopping everything at once, or all of a project.

Each is stopped by its own verb in a transaction of its own, so that one that cannot be stopped hinders none.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.conflicts import Verb
from ostler.domain.errors import VerbRefused
from ostler.domain.intents import Order
from ostler.domain.lifecycle import State
from ostler.store.database import Database
from ostler.store.instances import rows_in_states
from ostler.usecases.asking import Asker
from ostler.usecases.audit import write_signed
from ostler.usecases.record import Occasion
from ostler.usecases.verbs import Verbs

_STOPPABLE = (
    State.CREATING,
    State.STARTING,
    State.RUNNING,
    State.HEALTH_CHECKING,
    State.READY,
    State.FAILED,
)


@dataclass(frozen=True, slots=True)
class StoppedAll:
    """What became of each instance, by its id."""

    operations: dict[str, str]  # instance → its operation
    refused: dict[str, str]  # instance → why not


class StopAll:
    """Stops everything that an asker may see."""

    def __init__(self, database: Database, verbs: Verbs, clock: Clock) -> None:
        self._database = database
        self._verbs = verbs
        self._clock = clock

    async def run(self, asker: Asker, project: str | None = None) -> StoppedAll:
        """Ask everything to stop, of one project if one is named."""
        wanted = await self._database.read(lambda connection: self._stoppable(connection, asker, project))
        stopped = StoppedAll({}, {})
        for instance_id in wanted:
            await self._stop(instance_id, asker, stopped)
        return stopped

    async def _stop(self, instance_id: str, asker: Asker, stopped: StoppedAll) -> None:
        at = self._clock.now()
        order = Order(Verb.STOP, at, why="stop all")
        try:
            answer = await write_signed(
                self._database,
                lambda connection: self._verbs.carry_out(
                    connection, instance_id, order, Occasion(at, asker.name)
                ),
            )
        except VerbRefused as refusal:
            stopped.refused[instance_id] = str(refusal)
        else:
            stopped.operations[instance_id] = "" if answer.operation is None else answer.operation.id

    def _stoppable(self, connection: Connection, asker: Asker, project: str | None) -> list[str]:
        rows = rows_in_states(connection, _STOPPABLE)
        return [
            row.instance.id
            for row in rows
            if asker.may_see(row.instance.spec.project) and project in {None, row.instance.spec.project}
        ]
