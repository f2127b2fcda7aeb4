"""The whole fleet at once: stop everything, look at everything, and what the cloud bills beside it.

An *orphan* carries our mark and has no row, a *duplicate* is a second upstream of one instance, a
*stranger* is not ours and is never touched; all are shown with their price.
"""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from ostler.api.exchange import Exchange
from ostler.api.json_body import NoFields
from ostler.api.model import Answer, Dollars, Identifier, Instant, Question
from ostler.api.routes.instance_bodies import Project
from ostler.domain.kinship import Kinship
from ostler.store.sightings import Sighting
from ostler.store.watch_state import Suspicion, WatchState

router = APIRouter(prefix="/api", tags=["fleet"])
_NOTHING = Decimal(0)
_PATIENCE = timedelta(seconds=10)


class StopAllBody(Question):
    """Stopping everything must be meant."""

    confirm: Literal[True]
    project: Project | None = None


class StopAllAnswer(Answer):
    """What became of each instance."""

    message: str
    operations: Mapping[str, str]
    refused: Mapping[str, str]


class OrphanAnswer(Answer):
    """An upstream that is no row's own."""

    novita_instance_id: str
    name: str
    kinship: Kinship
    installation: str | None
    instance_id: str | None
    upstream_status: str
    region: str
    product_name: str
    gpu_num: int
    price_per_hour: Dollars | None
    created_at: Instant | None
    first_seen_at: Instant
    last_seen_at: Instant


class OrphansAnswer(Answer):
    """What the cloud bills and no row has, the longest known first."""

    orphans: list[OrphanAnswer]
    price_per_hour: Dollars


class AdoptedAnswer(Answer):
    """The row that an upstream has now."""

    instance_id: str
    novita_instance_id: str
    status: str
    message: str


class DeletedAnswer(Answer):
    """The upstream will be removed."""

    novita_instance_id: str
    operation_id: str | None
    message: str


class SyncAnswer(Answer):
    """What became of looking."""

    message: str
    completed: bool
    last_pass_at: Instant | None


class TrustAnswer(Answer):
    """What is suspected of the account; nothing, when all is calm."""

    suspicion: Suspicion | None
    missing: int


@router.post("/instances/stop-all", status_code=HTTPStatus.ACCEPTED, summary="Stop everything")
async def stop_all(body: StopAllBody, on: Exchange) -> StopAllAnswer:
    found = await on.instances.stop_all.run(on.asker, on.caller.meant(body.project))
    count = len(found.operations)
    return StopAllAnswer(
        message=f"{count} instance{'' if count == 1 else 's'} will be stopped.",
        operations=found.operations,
        refused=found.refused,
    )


@router.get("/orphans", summary="What is billed and no row has")
async def orphans(
    on: Exchange,
    kinship: Annotated[list[Kinship], Query(max_length=len(Kinship))] = [],  # noqa: B006 -- FastAPI copies it
) -> OrphansAnswer:
    found = await on.instances.orphans.list(kinship)
    known = [each.price_per_hour.amount for each in found if each.price_per_hour is not None]
    return OrphansAnswer(orphans=[_orphan(each) for each in found], price_per_hour=sum(known, start=_NOTHING))


@router.post("/orphans/{novita_id}/adopt", summary="Give an orphan or a stranger a row")
async def adopt(novita_id: Identifier, on: Exchange) -> AdoptedAnswer:
    recorded = await on.instances.orphans.adopt(novita_id, on.occasion)
    instance = recorded.instance
    return AdoptedAnswer(
        instance_id=instance.id,
        novita_instance_id=novita_id,
        status=instance.state,
        message=f"{instance.name} is looked after from now on.",
    )


@router.post(
    "/orphans/{novita_id}/delete", status_code=HTTPStatus.ACCEPTED, summary="Remove an orphan for good"
)
async def delete(novita_id: Identifier, on: Exchange) -> DeletedAnswer:
    answer = await on.instances.orphans.delete(novita_id, on.occasion)
    operation = None if answer is None else answer.operation
    return DeletedAnswer(
        novita_instance_id=novita_id,
        operation_id=None if operation is None else operation.id,
        message=f"{novita_id} will be removed.",
    )


@router.post("/instances/sync", summary="Look at the whole account now")
async def sync(on: Exchange, _: NoFields) -> SyncAnswer:
    is_done = await on.instances.watcher.request_pass(_PATIENCE)
    state = on.instances.watcher.known
    return SyncAnswer(
        message="The account was looked at." if is_done else "The account is being looked at.",
        completed=is_done,
        last_pass_at=state.confirmed_at,
    )


@router.get("/account/trust", summary="Whether the account is believed to be ours")
async def trust(on: Exchange) -> TrustAnswer:
    return _trust(await on.instances.account.state())


@router.post("/account/confirm", summary="Say that the account is right as it is")
async def confirm(on: Exchange) -> TrustAnswer:
    return _trust(await on.instances.account.confirm())


def _trust(state: WatchState) -> TrustAnswer:
    return TrustAnswer(suspicion=state.suspicion, missing=state.suspect_count)


def _orphan(found: Sighting) -> OrphanAnswer:
    mark = found.mark
    return OrphanAnswer(
        novita_instance_id=found.upstream_id,
        name=found.name,
        kinship=found.kinship,
        installation=None if mark is None else mark.install_id,
        instance_id=None if mark is None else mark.instance_id,
        upstream_status=found.word,
        region=found.region,
        product_name=found.product_name,
        gpu_num=found.gpus,
        price_per_hour=None if found.price_per_hour is None else found.price_per_hour.amount,
        created_at=found.created_at,
        first_seen_at=found.first_seen_at,
        last_seen_at=found.last_seen_at,
    )
