"""Accepting a create: everything that can be refused is refused now, the rest is durable when this returns.

One transaction writes the instance, its operation, its first event, the answer to its Idempotency-Key and the
job, which this process takes on at once. Nothing is sent to the cloud here: that is `jobs/provision.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pydantic import TypeAdapter
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ostler.clock import Clock
from ostler.cloud.catalogue import Reader
from ostler.domain.errors import RequestInvalid
from ostler.domain.instance import accepted
from ostler.domain.operations import OperationKind
from ostler.domain.requests import CreateRequest, Defaults, parse_create
from ostler.domain.spec import InstanceSpec
from ostler.store.database import Database
from ostler.store.idempotency import RequestKey, keep_answer
from ostler.store.sealing import Sealer
from ostler.telemetry.trail import concern
from ostler.usecases.asking import Asker
from ostler.usecases.audit import write_signed
from ostler.usecases.expecting import Expectations
from ostler.usecases.idempotent import KeysInUse, answer_given, forget_if_old
from ostler.usecases.ids import Ids
from ostler.usecases.planning import Planner, Prospect, is_refused, require_known
from ostler.usecases.progress import Opening
from ostler.usecases.record import Edit, Occasion, Recorder

_ABOUT_TO_REFUSE = Reader(max_age_s=30)
ENVS: TypeAdapter[Mapping[str, str]] = TypeAdapter(Mapping[str, str])


@dataclass(frozen=True, slots=True)
class Accepted:
    """A create that will be carried out. A repeated request gets the very same."""

    instance_id: str
    operation_id: str
    estimated_ready_at: datetime | None  # None: it waits for stock, and nobody knows how long


class Create:
    """Accepts creates, and plans them without accepting."""

    def __init__(
        self, database: Database, recorder: Recorder, planner: Planner, clock: Clock, minting: "Minting"
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._planner = planner
        self._clock = clock
        self._minting = minting
        self._keys = KeysInUse()
        self._expectations = Expectations()

    async def read(
        self, body: Mapping[str, object], defaults: Defaults, own_project: str | None
    ) -> CreateRequest:
        """Return the create that a body asks for.

        Raises RequestInvalid with every wrong field, unknown regions among them, or OutsideProject.
        """
        try:
            return parse_create(body, defaults, own_project)
        except RequestInvalid as error:
            unknown = await self._planner.unknown_regions(body)
            raise RequestInvalid((*error.errors, *unknown)) from error

    async def plan(self, spec: InstanceSpec) -> Prospect:
        """Return where it could be placed now and why nowhere else; nothing is written (`dryRun`).

        Nothing is refused for want of stock by what was seen of the shelves some time ago.
        """
        prospect = await self._planner.prospect(spec, is_binding=False)
        if is_refused(spec, prospect):
            prospect = await self._planner.prospect(spec, _ABOUT_TO_REFUSE, is_binding=False)
        require_known(spec, prospect)
        return prospect

    async def accept(self, request: CreateRequest, asker: Asker, key: RequestKey | None = None) -> Accepted:
        """Write down what is wanted and have it done; or raise what is wrong with it.

        Raises RequestInvalid, Missing, TemplateUnusable, NoOfferAnywhere, CatalogueUnknown,
        IdempotencyKeyReused and IdempotencyKeyInUse; then nothing was written.
        """
        with self._keys.holding(key):
            if key is not None and (given := await self._given(key)) is not None:
                return given
            prospect = await self.plan(request.spec)
            try:
                write = partial(self._write, spec=request.spec, prospect=prospect, asker=asker, key=key)
                given = await write_signed(self._database, write)
            except IntegrityError:
                # another process was first with this key: its answer is ours
                if key is None or (given := await self._given(key)) is None:
                    raise
            concern(instance_id=given.instance_id, operation_id=given.operation_id)
            return given

    async def _given(self, key: RequestKey) -> Accepted | None:
        now = self._clock.now()
        answer = await self._database.read(lambda connection: answer_given(connection, key, now))
        return None if answer is None else _accepted(answer)

    def _write(
        self,
        connection: Connection,
        *,
        spec: InstanceSpec,
        prospect: Prospect,
        asker: Asker,
        key: RequestKey | None,
    ) -> Accepted:
        now = self._clock.now()
        opening = Opening(self._minting.ids.new(now), OperationKind.CREATE)
        change = accepted(self._minting.ids.new(now), spec, spec.health, now)
        envs = self._minting.sealer.seal(ENVS.dump_json(spec.envs)) if spec.envs else None
        self._recorder.admit(connection, Edit(change, opens=opening), Occasion(now, asker.name), envs)
        answer = Accepted(change.instance.id, opening.id, self._ready_at(connection, prospect, now))
        if key is not None:
            forget_if_old(connection, key, now)
            keep_answer(connection, key, _stored(answer), now)
        return answer

    def _ready_at(self, connection: Connection, prospect: Prospect, now: datetime) -> datetime | None:
        candidates = prospect.plan.candidates
        if not candidates:
            return None
        return self._expectations.ready_at(connection, candidates[0].product.name, now)


@dataclass(frozen=True, slots=True)
class Minting:
    """What new rows need: ids, and a seal for their secrets."""

    ids: Ids
    sealer: Sealer


def _stored(answer: Accepted) -> Mapping[str, str]:
    ready_at = answer.estimated_ready_at
    return {
        "instance_id": answer.instance_id,
        "operation_id": answer.operation_id,
        "estimated_ready_at": "" if ready_at is None else ready_at.isoformat(),
    }


def _accepted(stored: Mapping[str, str]) -> Accepted:
    told = stored["estimated_ready_at"]
    estimated = datetime.fromisoformat(told) if told else None
    return Accepted(stored["instance_id"], stored["operation_id"], estimated)
