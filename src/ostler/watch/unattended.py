"""Asking again for work that is gone though its instance still wants it: what a signal starts, a timer does.

Work is asked for in the transaction that wants it and ends with what it was for, unless a person cancels it.
A delete is never given up, and nothing is left half done: the next pass asks anew. Rows are judged by
`domain/driving.py`; called by the watcher, whether or not the cloud answers.
"""

from sqlalchemy import Connection

from ostler.domain.driving import DRIVEN_STATES, DRIVING_WORK, driving_work
from ostler.domain.instance import Change
from ostler.engine.leader import Term
from ostler.store.operations import open_operation
from ostler.store.unattended import unattended_ids
from ostler.usecases.desk import KINDS
from ostler.usecases.record import Edit
from ostler.watch.each import each
from ostler.watch.tower import Tower

_MOST_PER_PASS = 200
_DRIVING_KINDS = sorted(KINDS[work].name for work in DRIVING_WORK)


class Unattended:
    """Finds what nobody carries on, and has it carried on."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower

    async def ask(self, term: Term) -> None:
        """Ask for the work of some of them; the others wait for the next pass."""

        async def one(instance_id: str) -> None:
            await term.write(lambda connection: self._ask(connection, instance_id))

        await each(await self._tower.database.read(_found), one, lambda instance_id: instance_id)

    def _ask(self, connection: Connection, instance_id: str) -> None:
        before = self._tower.recorder.lock(connection, instance_id)
        found = open_operation(connection, instance_id)
        work = driving_work(before.instance, None if found is None else found.operation.kind)
        if work is not None:
            edit = Edit(Change(before.instance).asking(work))
            self._tower.recorder.write(connection, before, edit, self._tower.occasion())


def _found(connection: Connection) -> list[str]:
    return unattended_ids(connection, DRIVEN_STATES, _DRIVING_KINDS, _MOST_PER_PASS)
