"""Changes of instances: create, start, stop, restart, migrate, delete, by id and by name.

Every change answers at once with the operation that carries it out. Repeating a change is harmless.
"""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import APIRouter, Response
from pydantic import Field

from ostler.api.exchange import Exchange
from ostler.api.json_body import JsonBody, NoFields
from ostler.api.model import Answer, Dollars, Identifier, Instant
from ostler.api.repeating import OnceKey
from ostler.api.routes.instance_bodies import (
    ByNameBody,
    CreateBody,
    MigrateBody,
    StartBody,
    StartByNameBody,
    described_by,
)
from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import FieldCode, Fields
from ostler.domain.requests import INSTANCE_NAME
from ostler.domain.start_requests import StartRequest, parse_start
from ostler.store.idempotency import RequestKey
from ostler.usecases.asking import ById, ByName, Target
from ostler.usecases.planning import Prospect
from ostler.usecases.verbs import Answer as Outcome

router = APIRouter(prefix="/api/instances", tags=["instances"])


class CreatedAnswer(Answer):
    """The create is accepted and will be carried out."""

    instance_id: str
    status: str
    message: str
    operation_id: str
    estimated_ready_time: Instant | None = Field(description="null: it waits for stock")


class CandidateAnswer(Answer):
    """An offer that would be tried."""

    region: str
    product_id: str
    product_name: str
    price_per_hour: Dollars
    prepaid_price: Dollars | None = Field(description="of `monthly`: the whole term, paid at once")


class LeftOutAnswer(Answer):
    """A region, or a product in it, that would not be tried."""

    region: str
    reason: str
    product_id: str | None
    price_per_hour: Dollars | None


class PlanAnswer(Answer):
    """What a create would do now, in this order."""

    dry_run: bool = True
    rootfs_size: int
    candidates: list[CandidateAnswer]
    left_out: list[LeftOutAnswer]


class ChangeAnswer(Answer):
    """The change is accepted and will be carried out, or was so already."""

    instance_id: str
    novita_instance_id: str | None
    status: str
    message: str
    operation_id: str | None


class StartAnswer(ChangeAnswer):
    """The start is accepted."""

    estimated_ready_time: Instant


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    summary="Create an instance",
    responses={200: {"model": PlanAnswer, "description": "`dryRun`: the plan; nothing was created"}},
    openapi_extra=described_by(CreateBody),
)
async def create(
    body: JsonBody, on: Exchange, response: Response, key: OnceKey
) -> CreatedAnswer | PlanAnswer:
    request = await on.instances.create.read(body, on.instances.defaults, on.caller.project)
    if request.is_dry_run:
        response.status_code = HTTPStatus.OK
        return _plan(await on.instances.create.plan(request.spec))
    accepted = await on.instances.create.accept(request, on.asker, key)
    response.headers["Location"] = f"/api/instances/{accepted.instance_id}"
    return CreatedAnswer(
        instance_id=accepted.instance_id,
        status="creating",
        message=f"{request.spec.name} will be created.",
        operation_id=accepted.operation_id,
        estimated_ready_time=accepted.estimated_ready_at,
    )


@router.post(
    "/start",
    status_code=HTTPStatus.ACCEPTED,
    summary="Start the instance of this name",
    openapi_extra=described_by(StartByNameBody),
)
async def start_by_name(body: JsonBody, on: Exchange, key: OnceKey) -> StartAnswer:
    request = parse_start(body, on.instances.defaults, by_name=True)
    assert request.instance_name is not None
    return await _start(ByName(request.instance_name), request, on, key)


@router.post(
    "/stop",
    status_code=HTTPStatus.ACCEPTED,
    summary="Stop the instance of this name",
    openapi_extra=described_by(ByNameBody),
)
async def stop_by_name(body: JsonBody, on: Exchange, key: OnceKey) -> ChangeAnswer:
    return _changed(await on.instances.verbs.stop(_named(body), on.asker, key), "stopped")


@router.post(
    "/delete",
    status_code=HTTPStatus.ACCEPTED,
    summary="Delete the instance of this name",
    openapi_extra=described_by(ByNameBody),
)
async def delete_by_name(body: JsonBody, on: Exchange, key: OnceKey) -> ChangeAnswer:
    return _changed(await on.instances.verbs.delete(_named(body), on.asker, key), "deleted")


@router.post(
    "/{instance_id}/start",
    status_code=HTTPStatus.ACCEPTED,
    summary="Start a stopped instance",
    openapi_extra=described_by(StartBody, is_required=False),
)
async def start(instance_id: Identifier, body: JsonBody, on: Exchange, key: OnceKey) -> StartAnswer:
    request = parse_start(body, on.instances.defaults)
    return await _start(ById(instance_id), request, on, key)


@router.post("/{instance_id}/stop", status_code=HTTPStatus.ACCEPTED, summary="Stop an instance")
async def stop(instance_id: Identifier, on: Exchange, key: OnceKey, _: NoFields) -> ChangeAnswer:
    return _changed(await on.instances.verbs.stop(ById(instance_id), on.asker, key), "stopped")


@router.post("/{instance_id}/restart", status_code=HTTPStatus.ACCEPTED, summary="Restart an instance")
async def restart(instance_id: Identifier, on: Exchange, key: OnceKey, _: NoFields) -> ChangeAnswer:
    return _changed(await on.instances.verbs.restart(ById(instance_id), on.asker, key), "restarted")


@router.post(
    "/{instance_id}/migrate",
    status_code=HTTPStatus.ACCEPTED,
    summary="Move an instance to another machine; its disks' content is lost",
    openapi_extra=described_by(MigrateBody),
)
async def migrate(instance_id: Identifier, body: JsonBody, on: Exchange, key: OnceKey) -> ChangeAnswer:
    fields = Fields(body)
    fields.refuse_unknown(("acceptDataLoss",))
    accepts_data_loss = fields.flag("acceptDataLoss")
    if fields.errors:
        raise RequestInvalid(fields.errors)
    outcome = await on.instances.verbs.migrate(
        ById(instance_id), on.asker, key, accepts_data_loss=accepts_data_loss
    )
    return _changed(outcome, "migrated")


@router.delete("/{instance_id}", status_code=HTTPStatus.ACCEPTED, summary="Delete an instance for good")
async def delete(instance_id: Identifier, on: Exchange, key: OnceKey, _: NoFields) -> ChangeAnswer:
    return _changed(await on.instances.verbs.delete(ById(instance_id), on.asker, key), "deleted")


async def _start(target: Target, request: StartRequest, on: Exchange, key: RequestKey | None) -> StartAnswer:
    outcome = await on.instances.verbs.start(target, on.asker, request, on.instances.defaults.health, key)
    return StartAnswer(
        **_changed(outcome, "started").model_dump(),
        estimated_ready_time=await on.instances.verbs.expected_ready_at(outcome),
    )


def _changed(outcome: Outcome, done: str) -> ChangeAnswer:
    instance, operation = outcome.instance, outcome.operation
    if operation is not None and operation.is_open:
        said = f"{instance.name} will be {done}."
    else:
        is_done_now = f"{instance.name} was {done}: nothing of it was at the cloud."
        said = is_done_now if outcome.is_new else f"{instance.name} is {instance.state} already."
    return ChangeAnswer(
        instance_id=instance.id,
        novita_instance_id=instance.upstream_id,
        status=instance.state,
        message=said,
        operation_id=None if operation is None else operation.id,
    )


def _plan(prospect: Prospect) -> PlanAnswer:
    return PlanAnswer(
        rootfs_size=prospect.rootfs_gb,
        candidates=[
            CandidateAnswer(
                region=each.region.code,
                product_id=each.product.id,
                product_name=each.product.name,
                price_per_hour=each.price_per_hour.amount,
                prepaid_price=None if each.prepaid is None else each.prepaid.amount,
            )
            for each in prospect.plan.candidates
        ],
        left_out=[
            LeftOutAnswer(
                region=each.region,
                reason=each.reason,
                product_id=each.product_id,
                price_per_hour=None if each.price_per_hour is None else each.price_per_hour.amount,
            )
            for each in prospect.plan.left_out
        ],
    )


def _named(body: Mapping[str, object]) -> ByName:
    fields = Fields(body)
    fields.refuse_unknown(("instanceName",))
    name = fields.required_text("instanceName", FieldCode.INVALID_INSTANCE_NAME, INSTANCE_NAME)
    if fields.errors:
        raise RequestInvalid(fields.errors)
    return ByName(name)
