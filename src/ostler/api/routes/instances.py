"""Reading instances: lists, details, waiting, and what happened to one.

Reads never wait for the cloud. What they show says when it was observed, and old sights are renewed.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, Field, ValidationInfo

from ostler.api.exchange import Exchange
from ostler.api.json_body import JsonBody
from ostler.api.model import Answer, Dollars, Form, GivenInstant, Identifier, Instant, Question, RowNumber
from ostler.api.remembered import remember
from ostler.api.routes.drawn_instances import (
    DrawnList,
    ListAnswer,
    details_again,
    drawn_details,
    drawn_list,
    list_again,
)
from ostler.api.routes.event_answers import EventAnswer, event_of
from ostler.api.routes.instance_answers import (
    InstanceDetails,
    details_of,
)
from ostler.api.routes.instance_bodies import PatchBody, described_by
from ostler.api.routes.instance_waiting import WaitQuestion, waited
from ostler.api.routes.operations import OperationAnswer, operation_of
from ostler.api.tags import KnownTags, tagged, unchanged
from ostler.domain.lifecycle import State
from ostler.domain.marks import DIGITS, ID_LENGTH
from ostler.domain.pairs import MAX_LABELS
from ostler.domain.patch_requests import parse_patch
from ostler.store.attempts import AttemptRow
from ostler.store.instance_lists import InstanceFilter, PageWish
from ostler.usecases.asking import ById, ByName
from ostler.usecases.listing import OF_STRANGERS, ListSource, ListWish

router = APIRouter(prefix="/api/instances", tags=["instances"])
_KNOWN_STATES = {state.value: state for state in State} | {"stopped": State.EXITED}
_STATE = "|".join(_KNOWN_STATES)
_STATES = f"^({_STATE})(,({_STATE}))*$"
_LABEL = Form("^[^=]+(=.*)?$", "`key` or `key=value`")
_CURSOR = Form(f"^([{DIGITS}]{{{ID_LENGTH}}}|{OF_STRANGERS}.+)$", "the `nextCursor` of a page")
_MOST = 500


def _known_states(words: list[str]) -> list[str]:
    if any(part not in _KNOWN_STATES for word in words for part in word.split(",")):
        message = f"must be one of {', '.join(_KNOWN_STATES)}"
        raise ValueError(message)
    return words


def _alone(cursor: str | None, known: ValidationInfo[object]) -> str | None:
    if cursor is not None and known.data.get("offset"):
        message = "cannot be given together with an offset"
        raise ValueError(message)
    return cursor


_TOTAL = {"schema": {"type": "integer"}, "description": "how many there are on all pages"}


class ListQuestion(Question):
    """Which instances."""

    status: Annotated[
        list[Annotated[str, Field(json_schema_extra={"pattern": _STATES})]], AfterValidator(_known_states)
    ] = Field([], max_length=len(_KNOWN_STATES), description="one or more states; `stopped` is `exited`")
    name: str | None = Field(None, max_length=100)
    project: str | None = Field(None, max_length=63)
    region: str | None = Field(None, max_length=100)
    label: list[Annotated[str, _LABEL]] = Field(
        [], max_length=MAX_LABELS, description="`key` or `key=value`; may be repeated"
    )
    source: ListSource = Field(ListSource.LOCAL, description="`novita`: what only the cloud has")
    limit: int = Field(_MOST, ge=1, le=_MOST)
    offset: int = Field(0, ge=0, le=1_000_000_000)
    cursor: Annotated[Annotated[str, _CURSOR] | None, AfterValidator(_alone)] = Field(
        None, max_length=300, description="`nextCursor` of the page before"
    )


class TimeLineAnswer(Answer):
    """What happened to an instance, in order."""

    events: list[EventAnswer]


class AttemptAnswer(Answer):
    """One try to place an instance."""

    number: int
    region: str
    product_id: str
    product_name: str
    billing_mode: str
    price_per_hour: Dollars
    outcome: str
    novita_instance_id: str | None
    detail: str | None
    began_at: Instant
    duration_ms: int | None


class AttemptsAnswer(Answer):
    """The offers that were tried, oldest first."""

    attempts: list[AttemptAnswer]


class OperationsAnswer(Answer):
    """What was asked of an instance, newest first."""

    operations: list[OperationAnswer]


class CredentialsAnswer(Answer):
    """The passwords of an instance; they change at each start."""

    ssh_password: str | None
    web_terminal_password: str | None


class LastUsedBody(Question):
    """When it was last used; now, if it is not said."""

    last_used_at: GivenInstant | None = None


class LastUsedAnswer(Answer):
    """When it was last used, as far as is known."""

    instance_id: str
    last_used_at: Instant
    message: str


@router.get(
    "",
    summary="List instances, newest first",
    response_model=ListAnswer,
    responses=tagged(**{"X-Total-Count": _TOTAL}),
)
async def instances(
    on: Exchange,
    question: Annotated[ListQuestion, Query()],
    known_tags: KnownTags,
    request: Request,
) -> Response:
    wanted = InstanceFilter(
        states=_states(question.status),
        name=question.name,
        project=on.caller.meant(question.project),
        region=question.region,
        labels=_labels(question.label),
    )
    page = PageWish(question.limit, question.offset, question.cursor)
    wish, reading = ListWish(wanted, page, question.source), on.instances.reading
    heading = await reading.heading(wish)
    if heading.tag in known_tags:
        return unchanged(heading.tag)

    async def draw() -> DrawnList:
        return drawn_list(await reading.page(wish), page)

    drawn = (await on.instances.lists.get(heading.tag, draw)).value
    remember(request, list_again(drawn, heading, reading))
    return drawn.answer(known_tags)


@router.get(
    "/by-name/{name}",
    summary="One instance by its name",
    response_model=InstanceDetails,
    responses=tagged(),
)
async def instance_by_name(name: str, on: Exchange, known_tags: KnownTags) -> Response:
    found = await on.instances.reading.details(ByName(name), on.asker)
    return drawn_details(found).answer(found, known_tags)


@router.get(
    "/{instance_id}",
    summary="One instance; may wait until something is so",
    response_model=InstanceDetails,
    responses=tagged(),
)
async def instance(
    instance_id: Identifier,
    on: Exchange,
    question: Annotated[WaitQuestion, Query()],
    known_tags: KnownTags,
    request: Request,
) -> Response | InstanceDetails:
    if question.wait_for is None:
        found = await on.instances.reading.details(ById(instance_id), on.asker)
        drawn = drawn_details(found)
        remember(request, details_again(drawn, found, on.instances.reading))
        return drawn.answer(found, known_tags)
    return await waited(instance_id, question.wait_for, question.timeout_seconds, on)


@router.patch(
    "/{instance_id}", summary="Change name, labels or brakes", openapi_extra=described_by(PatchBody)
)
async def patch(instance_id: Identifier, body: JsonBody, on: Exchange) -> InstanceDetails:
    await on.instances.change.patch(ById(instance_id), on.asker, parse_patch(body))
    return details_of(await on.instances.reading.details(ById(instance_id), on.asker))


@router.put("/{instance_id}/last-used", summary="Note that an instance was used")
async def last_used(
    instance_id: Identifier, on: Exchange, body: LastUsedBody | None = None
) -> LastUsedAnswer:
    at = None if body is None else body.last_used_at
    used_at = await on.instances.change.mark_used(instance_id, on.asker, at)
    return LastUsedAnswer(instance_id=instance_id, last_used_at=used_at, message=_noted(at, used_at))


@router.get("/{instance_id}/events", summary="The time line of an instance")
async def time_line(
    instance_id: Identifier,
    on: Exchange,
    after: RowNumber = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = _MOST,
) -> TimeLineAnswer:
    found = await on.instances.reading.time_line(instance_id, on.asker, after, limit)
    return TimeLineAnswer(events=[event_of(each) for each in found])


@router.get("/{instance_id}/attempts", summary="The offers that were tried")
async def attempts(instance_id: Identifier, on: Exchange) -> AttemptsAnswer:
    found = await on.instances.reading.attempts(instance_id, on.asker)
    return AttemptsAnswer(attempts=[_attempt(each) for each in found])


@router.get("/{instance_id}/operations", summary="What was asked of an instance")
async def operations(instance_id: Identifier, on: Exchange) -> OperationsAnswer:
    found = await on.instances.reading.operations(instance_id, on.asker)
    return OperationsAnswer(operations=[operation_of(each) for each in found])


@router.get("/{instance_id}/credentials", summary="The passwords of an instance")
async def credentials(instance_id: Identifier, on: Exchange, response: Response) -> CredentialsAnswer:
    response.headers["Cache-Control"] = "no-store"
    found = await on.instances.reading.passwords(instance_id, on.asker, on.instances.sealer)
    return CredentialsAnswer(
        ssh_password=found.ssh.get_secret_value() or None,
        web_terminal_password=found.web_terminal.get_secret_value() or None,
    )


def _noted(asked: datetime | None, kept: datetime) -> str:
    if asked is None or asked == kept:
        return "Noted."
    if asked < kept:
        return "It was used later than that, as is known already: that stays."
    return "That lies in the future: it counts as now."


def _states(words: list[str]) -> list[State]:
    return [_KNOWN_STATES[part] for word in words for part in word.split(",")]


def _labels(words: list[str]) -> Mapping[str, str | None]:
    pairs = (word.partition("=") for word in words)
    return {key: value if separator else None for key, separator, value in pairs}


def _attempt(row: AttemptRow) -> AttemptAnswer:
    attempt = row.attempt
    took = (
        None if row.called_at is None or attempt.answered_at is None else attempt.answered_at - row.called_at
    )
    return AttemptAnswer(
        number=attempt.number,
        region=row.region,
        product_id=attempt.offer.product_id,
        product_name=row.product_name,
        billing_mode=attempt.offer.billing_mode,
        price_per_hour=attempt.price_per_hour.amount,
        outcome=attempt.state,
        novita_instance_id=attempt.upstream_id,
        detail=attempt.detail or None,
        began_at=row.intended_at,
        duration_ms=None if took is None else round(took.total_seconds() * 1000),
    )
