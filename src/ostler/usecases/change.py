"""Changing what is wanted of an instance without touching it: name, labels, brakes; marking its use.

The name at the cloud stays as it was; the mark at its end is what counts.
"""

from datetime import datetime

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.errors import InstanceTerminated
from ostler.domain.instance import Change, Instance
from ostler.domain.lifecycle import State
from ostler.domain.patch_requests import PatchRequest, patched
from ostler.store.database import Database
from ostler.store.instances import InstanceRow, find_instance, mark_used
from ostler.store.signals import announce
from ostler.usecases.asking import Asker, Target, resolved, visible
from ostler.usecases.audit import write_signed
from ostler.usecases.record import Edit, Occasion, Recorder, topic_of


class ChangeInstance:
    """Changes what is wanted."""

    def __init__(self, database: Database, recorder: Recorder, clock: Clock) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock

    async def patch(self, target: Target, asker: Asker, patch: PatchRequest) -> InstanceRow:
        """Change name, labels or brakes; raise RequestInvalid for what it cannot have, InstanceTerminated."""
        occasion = Occasion(self._clock.now(), asker.name)

        def work(connection: Connection) -> InstanceRow:
            instance_id = resolved(connection, target, asker)
            before = self._recorder.lock(connection, instance_id)
            _require_alive(before.instance)
            change = Change(patched(before.instance, patch))
            return self._recorder.write(connection, before, Edit(change), occasion).row

        return await write_signed(self._database, work)

    async def mark_used(self, instance_id: str, asker: Asker, at: datetime | None = None) -> datetime:
        """Note that an instance was used, now if no instant is given; return when it was last used.

        An instant in the future counts as now, so that nobody holds an idle stop off for ever.
        """
        now = self._clock.now()
        used_at = now if at is None else min(at, now)

        def work(connection: Connection) -> datetime:
            _require_alive(visible(connection, instance_id, asker).instance)
            mark_used(connection, instance_id, used_at)
            announce(connection, topic_of(instance_id))
            row = find_instance(connection, instance_id)
            assert row is not None, instance_id
            return row.last_used_at or used_at

        return await write_signed(self._database, work)


def _require_alive(instance: Instance) -> None:
    if instance.state is State.TERMINATED:
        raise InstanceTerminated(instance.id)
