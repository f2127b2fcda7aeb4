"""What people may see of background work and do to it. Cancel and retry act on what lies beneath.

Cancelling the job of a create calls the create off: what is made of it is deleted; that of a start or restart
stops the instance, as cancelling their operations does. Any other job changes no instance: whoever wanted it,
or the watcher, asks again. An operation is tried again by its verb. A delivery is given up, or sent now. What
has ended well stays as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.domain.conflicts import Verb
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change, Instance
from ostler.domain.intents import Order
from ostler.domain.operations import OperationKind, Outcome
from ostler.domain.start_requests import StartRequest
from ostler.domain.work import WorkKind
from ostler.engine.engine import Engine
from ostler.store.database import Database
from ostler.store.job_views import retry_job
from ostler.store.operations import OperationRow, open_operation
from ostler.store.webhook_deliveries import webhook_deliveries
from ostler.store.webhook_views import cancel, replay
from ostler.usecases.asking import Asker, ById
from ostler.usecases.audit import write_signed
from ostler.usecases.background import BackgroundJob, BackgroundPage, Kin, WorkStatus, of_operation
from ostler.usecases.background_lists import (
    WorkFilter,
    WorkStats,
    find_monitored,
    find_work,
    page_of_work,
    stats_of_work,
)
from ostler.usecases.desk import KINDS
from ostler.usecases.record import Occasion, Recorder
from ostler.usecases.verbs import Verbs

_WHY = "its job was cancelled"
_CALLED_OFF_BY: Mapping[str, tuple[OperationKind, Verb]] = {
    KINDS[WorkKind.CREATE].name: (OperationKind.CREATE, Verb.DELETE),
    KINDS[WorkKind.START].name: (OperationKind.START, Verb.STOP),
    KINDS[WorkKind.RESTART].name: (OperationKind.RESTART, Verb.STOP),
}


@dataclass(frozen=True, slots=True)
class Jobs:
    """Shows background work, cancels it, does it now."""

    database: Database
    engine: Engine
    recorder: Recorder
    verbs: Verbs
    default_health: HealthPolicy  # of a start that is tried again

    async def page(self, wanted: WorkFilter) -> BackgroundPage:
        """Return a page of all work, newest first. The caller narrows it to what its asker may see."""
        return await self.database.read(lambda connection: page_of_work(connection, wanted))

    async def stats(self, asker: Asker) -> WorkStats:
        """Return counts, ages and throughput."""
        return await self.database.read(lambda connection: stats_of_work(connection, asker.project))

    async def one(self, job_id: str, asker: Asker) -> BackgroundJob:
        """Return one piece of work; raise Missing."""
        return await self.database.read(lambda connection: find_work(connection, job_id, asker))

    async def cancel(self, job_id: str, asker: Asker, occasion: Occasion) -> BackgroundJob:
        """Give up what is open; raise Missing, or VerbRefused for an operation that no stop supersedes."""

        def work(connection: Connection) -> BackgroundJob:
            found = find_work(connection, job_id, asker)
            match found.kin:
                case Kin.JOB:
                    if self.engine.cancel(connection, int(found.beneath)):
                        self._call_off(connection, found, occasion)
                case Kin.OPERATION if found.status is WorkStatus.PROCESSING:
                    order = Order(Verb.STOP, occasion.at, why=_WHY)
                    self.verbs.carry_out(connection, found.payload["instanceId"], order, occasion)
                case Kin.DELIVERY:
                    cancel(connection, webhook_deliveries.c.id == int(found.beneath))
                case _:
                    pass  # an operation that has ended
            return find_work(connection, job_id, asker)

        return await write_signed(self.database, work)

    async def retry(self, job_id: str, asker: Asker, occasion: Occasion) -> BackgroundJob:
        """Do now what waits or did not end well; raise Missing or VerbRefused.

        An operation that did not end well is followed by another one, which is returned.
        """

        def work(connection: Connection) -> BackgroundJob | OperationRow:
            found = find_work(connection, job_id, asker)
            match found.kin:
                case Kin.JOB:
                    retry_job(connection, int(found.beneath))
                case Kin.DELIVERY if found.status is not WorkStatus.COMPLETED:
                    replay(connection, int(found.beneath))
                case Kin.OPERATION:
                    row = find_monitored(connection, found.beneath, asker)
                    assert row is not None, "it was found in this transaction"
                    if row.operation.outcome in {Outcome.FAILED, Outcome.SUPERSEDED}:
                        return row
                    self._hurry(connection, row, occasion)
                case _:
                    pass  # a delivery that was taken
            return find_work(connection, job_id, asker)

        done = await write_signed(
            self.database, work, is_change=lambda found: isinstance(found, BackgroundJob)
        )
        return await self._asked_again(done, asker) if isinstance(done, OperationRow) else done

    def _call_off(self, connection: Connection, found: BackgroundJob, occasion: Occasion) -> None:
        """Carry a cancelled create, start or restart no further, as long as it is still what is going on."""
        carried = _CALLED_OFF_BY.get(found.type)
        instance_id = found.payload.get("instanceId", "")
        open_now = None if carried is None else open_operation(connection, instance_id)
        if carried is None or open_now is None:
            return
        kind, verb = carried
        if open_now.operation.kind is kind:
            self.verbs.carry_out(connection, instance_id, Order(verb, occasion.at, why=_WHY), occasion)

    def _hurry(self, connection: Connection, row: OperationRow, occasion: Occasion) -> None:
        """Bring an open operation's work forward, and have the cloud looked at."""
        operation = row.operation
        if not operation.is_open:
            return

        def asking(instance: Instance) -> Change:
            return Change(instance).asking(WorkKind(operation.kind.value)).asking(WorkKind.REFRESH)

        self.recorder.apply(connection, operation.instance_id, asking, occasion)

    async def _asked_again(self, row: OperationRow, asker: Asker) -> BackgroundJob:
        """A restart is asked for once more; all else ends with an instance that runs, which is a start."""
        target = ById(row.operation.instance_id)
        if row.operation.kind is OperationKind.RESTART:
            answer = await self.verbs.restart(target, asker)
        else:
            answer = await self.verbs.start(target, asker, StartRequest(), self.default_health)
        operation = answer.operation or row.operation
        return of_operation(OperationRow(operation, asker.name))
