"""Removing an upstream that no row has: a duplicate, or a late one of a terminated row. Never given up.

Before each delete it is made sure that no living row has it, as its own or as what it is to lose. Once
the cloud does not find it any more, its sighting goes, with an event and with what it cost.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.refusals import Gone
from ostler.domain.lifecycle import State
from ostler.domain.marks import parse_mark
from ostler.domain.upstream import REMOVAL
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, GiveUp, Outcome, Wait
from ostler.jobs.workshop import Workshop
from ostler.store.instances import find_instance, id_by_upstream
from ostler.store.sightings import drop_sightings, find_sighting
from ostler.usecases.record import Occasion
from ostler.usecases.surplus import tell_of_removed

_LOOK_AFTER = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class RemoveUpstream:
    """The body of `remove_upstream`; its subject is the upstream's id."""

    shop: Workshop

    async def __call__(self, context: JobContext) -> Outcome:
        if await context.database.read(lambda connection: _is_owned(connection, context.subject)):
            return GiveUp("an instance has it by now")
        try:
            shown = await self.shop.cloud.get(context.subject, lane=Lane.BACKGROUND)
            if parse_mark(shown.name) is None:
                return GiveUp("it does not carry a mark")
            if shown.state not in REMOVAL:
                await self.shop.cloud.delete(context.subject, lane=Lane.BACKGROUND)
        except Gone:
            await context.write(lambda connection: self._forget(connection, context.subject))
            return Done()
        return Wait(_LOOK_AFTER)

    def _forget(self, connection: Connection, upstream_id: str) -> None:
        seen = find_sighting(connection, upstream_id)
        if seen is None:
            return
        occasion = Occasion(self.shop.clock.now(), "work")
        tell_of_removed(self.shop.recorder, connection, seen, occasion)
        drop_sightings(connection, [upstream_id])


def _is_owned(connection: Connection, upstream_id: str) -> bool:
    """Tell whether a living row has the upstream; a tombstone's own may be removed."""
    owner_id = id_by_upstream(connection, upstream_id)
    owner = None if owner_id is None else find_instance(connection, owner_id)
    return owner is not None and owner.instance.state is not State.TERMINATED
