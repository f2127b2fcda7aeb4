"""Start, stop, restart, migrate, delete: a verb asked of an instance that exists.

The conflict matrix of the domain says what the verb means now; an accepted one is written with its
operation in one transaction and carried out by a job. `carry_out` is the same for parts of ours (brakes,
recovery) inside their own transactions. Answers at once, with the operation to follow.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ostler.clock import Clock
from ostler.domain.conflicts import (
    Accept,
    Conflict,
    ConflictCode,
    NothingToDo,
    SameOperation,
    Verb,
    decide,
    situation,
)
from ostler.domain.errors import IdempotencyKeyInUse, RequestInvalid, VerbRefused
from ostler.domain.fields import FieldCode, FieldError
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change, Instance, commanded
from ostler.domain.intents import Order, intend
from ostler.domain.operations import Operation, OperationKind
from ostler.domain.phases import Wanted
from ostler.domain.sightings import Command
from ostler.domain.start_requests import StartRequest
from ostler.domain.work import WorkKind
from ostler.store.database import Database
from ostler.store.idempotency import RequestKey, keep_answer
from ostler.store.instances import InstanceRow, find_instance
from ostler.store.operations import find_operation, open_operation, operations_of
from ostler.telemetry.trail import concern
from ostler.usecases.asking import Asker, Target, resolved
from ostler.usecases.audit import write_signed
from ostler.usecases.details import exposes_http
from ostler.usecases.expecting import Expectations
from ostler.usecases.idempotent import answer_given, forget_if_old
from ostler.usecases.ids import Ids
from ostler.usecases.progress import Opening
from ostler.usecases.record import Edit, Occasion, Recorder

_WORK = {verb: WorkKind(verb.value) for verb in Verb}


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a verb: the row as it is now, and the operation that carries it out.

    `operation` None: there was nothing to do, and nothing like it was ever asked.
    """

    row: InstanceRow
    operation: Operation | None
    is_new: bool  # False: it was asked before, or is so already

    @property
    def instance(self) -> Instance:
        """The instance as it is now."""
        return self.row.instance


class Verbs:
    """Asks verbs of instances."""

    def __init__(self, database: Database, recorder: Recorder, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._ids = ids
        self._expectations = Expectations()

    async def start(
        self,
        target: Target,
        asker: Asker,
        request: StartRequest,
        default_health: HealthPolicy,
        key: RequestKey | None = None,
    ) -> Answer:
        """Start a stopped instance; one that was reclaimed migrates."""

        def order(connection: Connection, instance_id: str) -> Order:
            health = _health(connection, instance_id, request, default_health)
            return Order(Verb.START, self._clock.now(), health=health)

        return await self._ask(target, asker, order, key, webhook_url=request.webhook_url)

    async def expected_ready_at(self, answer: Answer) -> datetime:
        """Return when a start is expected to be over, by the last ones of its product."""
        instance, placement = answer.instance, answer.row.placement
        product_name = instance.spec.product_name if placement is None else placement.product_name
        began_at = instance.start_began_at or instance.created_at
        return await self._database.read(
            lambda connection: self._expectations.ready_at(connection, product_name, began_at)
        )

    async def stop(self, target: Target, asker: Asker, key: RequestKey | None = None) -> Answer:
        """Stop an instance; its disk is kept, and billed."""
        return await self._ask(target, asker, self._plain(Verb.STOP), key)

    async def restart(self, target: Target, asker: Asker, key: RequestKey | None = None) -> Answer:
        """Restart a running instance."""
        return await self._ask(target, asker, self._plain(Verb.RESTART), key)

    async def delete(self, target: Target, asker: Asker, key: RequestKey | None = None) -> Answer:
        """Remove an instance for good; never given up once accepted."""
        return await self._ask(target, asker, self._plain(Verb.DELETE), key)

    async def migrate(
        self, target: Target, asker: Asker, key: RequestKey | None = None, *, accepts_data_loss: bool
    ) -> Answer:
        """Move an instance to another machine; what its disks hold is lost, and that must be accepted."""
        if not accepts_data_loss:
            message = "must be true: what the system and local disks hold is lost"
            raise RequestInvalid([FieldError("acceptDataLoss", FieldCode.INVALID_FLAG, message)])
        return await self._ask(target, asker, self._plain(Verb.MIGRATE), key)

    def carry_out(self, connection: Connection, instance_id: str, order: Order, occasion: Occasion) -> Answer:
        """Ask a verb inside the caller's transaction; raise VerbRefused when it does not fit."""
        before = self._recorder.lock(connection, instance_id)
        found = open_operation(connection, instance_id)
        open_now = None if found is None else found.operation
        decision = decide(order.verb, situation(before.instance, open_now.kind if open_now else None))
        match decision:
            case Accept():
                opening = Opening(self._ids.new(order.at), OperationKind(order.verb.value))
                change = _on_its_way(intend(before.instance, decision, order), order)
                recorded = self._recorder.write(connection, before, Edit(change, opens=opening), occasion)
                return Answer(recorded.row, recorded.operation, is_new=True)
            case SameOperation():
                self._hurry(connection, before, order.verb, occasion)
                return Answer(before, open_now, is_new=False)
            case NothingToDo():
                row = self._settle_wish(connection, before, order.verb, occasion)
                return Answer(row, _last_like(connection, instance_id, order.verb), is_new=False)
            case Conflict(code):
                raise _refusal(order.verb, code, before.instance, open_now)

    async def _ask(
        self,
        target: Target,
        asker: Asker,
        order: Callable[[Connection, str], Order],
        key: RequestKey | None,
        *,
        webhook_url: str | None = None,
    ) -> Answer:
        def once(connection: Connection) -> Answer:
            """Ask it, unless it was asked under the same key before."""
            if key is None:
                return work(connection)
            given = self._given(connection, key)
            if given is None:
                self._recorder.lock(connection, resolved(connection, target, asker))
                given = self._given(connection, key)  # of two at once the second waited for the first
            return given or self._kept(connection, key, work(connection))

        def work(connection: Connection) -> Answer:
            instance_id = resolved(connection, target, asker)
            asked = order(connection, instance_id)
            occasion = Occasion(asked.at, asker.name)
            if webhook_url is not None:  # first, so that the new address hears of the verb itself
                self._call_back(connection, instance_id, webhook_url, occasion)
            return self.carry_out(connection, instance_id, asked, occasion)

        try:
            answer = await write_signed(self._database, once)
        except IntegrityError as error:
            if key is None:
                raise
            raise IdempotencyKeyInUse from error  # of another instance, at the same moment
        operation = answer.operation
        concern(instance_id=answer.instance.id, operation_id=None if operation is None else operation.id)
        return answer

    def _given(self, connection: Connection, key: RequestKey) -> Answer | None:
        """Return the operation that a request under this key has opened, and its instance as it is now."""
        given = answer_given(connection, key, self._clock.now())
        if given is None:
            return None
        row = find_instance(connection, given["instance_id"])
        found = find_operation(connection, given["operation_id"])
        assert row is not None, given
        assert found is not None, given
        return Answer(row, found.operation, is_new=False)

    def _kept(self, connection: Connection, key: RequestKey, answer: Answer) -> Answer:
        """Keep an answer for who asks again; what opened nothing does no harm when it is asked again."""
        if answer.operation is not None:
            now = self._clock.now()
            said = {"instance_id": answer.instance.id, "operation_id": answer.operation.id}
            forget_if_old(connection, key, now)
            keep_answer(connection, key, said, now)
        return answer

    def _plain(self, verb: Verb) -> Callable[[Connection, str], Order]:
        def order(_: Connection, __: str) -> Order:
            return Order(verb, self._clock.now())

        return order

    def _call_back(
        self, connection: Connection, instance_id: str, webhook_url: str, occasion: Occasion
    ) -> None:
        """From now on tell another address about the instance; a verb that is refused undoes it."""
        row = self._recorder.lock(connection, instance_id)
        spec = replace(row.instance.spec, webhook_url=webhook_url)
        self._recorder.write(connection, row, Edit(Change(replace(row.instance, spec=spec))), occasion)

    def _hurry(self, connection: Connection, row: InstanceRow, verb: Verb, occasion: Occasion) -> None:
        change = Change(row.instance).asking(_WORK[verb])
        self._recorder.write(connection, row, Edit(change), occasion)

    def _settle_wish(
        self, connection: Connection, row: InstanceRow, verb: Verb, occasion: Occasion
    ) -> InstanceRow:
        """What was stopped by others and is now asked to stop shall not be recovered any more."""
        if verb is not Verb.STOP or row.instance.wanted is not Wanted.RUNNING:
            return row
        change = Change(replace(row.instance, wanted=Wanted.STOPPED))
        return self._recorder.write(connection, row, Edit(change), occasion).row


def _on_its_way(change: Change, order: Order) -> Change:
    """An accepted verb counts as a command on its way: what is seen meanwhile may be from before it."""
    instance = change.instance
    if instance.upstream_id is None:
        return change
    command = Command(order.at, None, instance.upstream_state)
    return replace(change, instance=commanded(instance, command))


def _health(
    connection: Connection, instance_id: str, request: StartRequest, default: HealthPolicy
) -> HealthPolicy | None:
    """A start checks by default, where there is an HTTP endpoint to be checked."""
    if request.is_check_refused:
        return None
    if request.health is not None:
        return request.health
    return default if exposes_http(connection, instance_id) else None


def _last_like(connection: Connection, instance_id: str, verb: Verb) -> Operation | None:
    rows = operations_of(connection, instance_id)
    return next((row.operation for row in rows if row.operation.kind.value == verb.value), None)


def _refusal(verb: Verb, code: ConflictCode, instance: Instance, open_now: Operation | None) -> VerbRefused:
    blocking = None if open_now is None else (open_now.id, open_now.kind)
    return VerbRefused(verb, code, instance.state, blocking)
