"""`/api/webhooks`: who is told what happens, what was delivered, and how to deliver it again.

A secret is shown once, when its endpoint is registered; deliveries are signed by the Standard Webhooks rules.
"""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from ostler.api.exchange import Exchange
from ostler.api.json_body import JsonBody
from ostler.api.model import MOST_ROWS, Answer, Identifier, Instant, Question, RowNumber
from ostler.api.routes.instance_bodies import Project, WebhookUrl, described_by
from ostler.domain.errors import Missing, Thing
from ostler.domain.fields import shown
from ostler.notify.endpoint_requests import read_endpoint_wish
from ostler.notify.subscriptions import FILTERS
from ostler.store.webhook_deliveries import Attempt, DeliveryStatus
from ostler.store.webhook_endpoints import EndpointFilter, EndpointRow
from ostler.store.webhook_views import DeliveryFilter, DeliveryView

router = APIRouter(prefix="/api/webhooks", tags=["webhooks"])
# shown as a number, which is an id as any other where it is asked for
DeliveryId = Annotated[Identifier, Path(json_schema_extra={"type": ["string", "integer"]})]
EventFilter = Annotated[str, Field(json_schema_extra={"enum": [*sorted(FILTERS)]})]


class EndpointBody(Question):
    """A receiver to be told."""

    url: WebhookUrl
    events: list[EventFilter] | None = Field(
        None, max_length=64, description="names, families such as `instance.*`, or `*`"
    )
    project: Project | None = None
    secret: str | None = Field(
        None, min_length=1, description="`whsec_` and base64, or raw; made when absent"
    )


class EndpointAnswer(Answer):
    """Who is told."""

    id: str
    origin: str
    url: str | None
    events: list[str]
    project: str | None
    created_at: Instant
    created_by: str


class NewEndpointAnswer(EndpointAnswer):
    """Who is told from now on, with the secret for the only time."""

    secret: str
    warning: str | None


class SharedSecretAnswer(Answer):
    """What signs for receivers that have no secret of their own."""

    source: Literal["WEBHOOK_SECRET", "generated"]
    secret: str | None = Field(description="null: it is the setting's value, which is not told")


class EndpointsAnswer(Answer):
    """All receivers, oldest first."""

    endpoints: list[EndpointAnswer]


class DeliveryAttemptAnswer(Answer):
    """One try to deliver."""

    at: Instant
    status: int | None
    latency_ms: int
    error: str | None


class DeliveryAnswer(Answer):
    """One message to one receiver."""

    id: int
    endpoint_id: str
    message_id: str
    event: str
    instance_id: str | None
    sequence: int | None
    status: DeliveryStatus
    attempts: int
    next_attempt_at: Instant | None
    created_at: Instant
    finished_at: Instant | None
    log: list[DeliveryAttemptAnswer]


class DeliveriesQuestion(Question):
    """Which deliveries."""

    endpoint_id: Identifier | None = None
    instance_id: Identifier | None = None
    status: DeliveryStatus | None = None
    event: str | None = Field(None, max_length=64)
    before: RowNumber | None = Field(None, description="the last id of the page before")
    limit: int = Field(100, ge=1, le=500)


class DeliveriesAnswer(Answer):
    """One page of deliveries, newest first."""

    deliveries: list[DeliveryAnswer]


class GoneAnswer(Answer):
    """What is no more."""

    message: str


@router.get("", summary="Who is told")
async def endpoints(on: Exchange) -> EndpointsAnswer:
    found = await on.instances.webhooks.endpoints(EndpointFilter(project=on.asker.project))
    return EndpointsAnswer(endpoints=[_endpoint(each) for each in found])


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    summary="Register a receiver",
    openapi_extra=described_by(EndpointBody),
)
async def register(body: JsonBody, on: Exchange, response: Response) -> NewEndpointAnswer:
    wish = read_endpoint_wish(body, on.instances.reach)
    made = await on.instances.webhooks.register(wish, on.asker.name, on.asker.project)
    response.headers["Cache-Control"] = "no-store"
    return NewEndpointAnswer(
        **_endpoint(made.endpoint).model_dump(), secret=made.secret.get_secret_value(), warning=made.warning
    )


@router.get("/deliveries", summary="What was delivered, newest first")
async def deliveries(on: Exchange, question: Annotated[DeliveriesQuestion, Query()]) -> DeliveriesAnswer:
    wanted = DeliveryFilter(
        endpoint_id=question.endpoint_id,
        instance_id=question.instance_id,
        project=on.asker.project,
        statuses=None if question.status is None else [question.status],
        event=question.event,
        before_id=question.before,
        limit=question.limit,
    )
    found = await on.instances.webhooks.deliveries(wanted)
    return DeliveriesAnswer(deliveries=[_delivery(each) for each in found])


@router.get("/deliveries/{delivery_id}", summary="One delivery")
async def delivery(delivery_id: DeliveryId, on: Exchange) -> DeliveryAnswer:
    found, _ = await on.instances.webhooks.delivery(_row_of(delivery_id), on.asker.project)
    return _delivery(found)


@router.post("/deliveries/{delivery_id}/replay", summary="Deliver once more, under the same id")
async def replay(delivery_id: DeliveryId, on: Exchange) -> DeliveryAnswer:
    return _delivery(await on.instances.webhooks.replay(_row_of(delivery_id), on.asker.project))


@router.get("/secret", summary="The secret that signs for receivers without one of their own")
async def shared_secret(on: Exchange, response: Response) -> SharedSecretAnswer:
    response.headers["Cache-Control"] = "no-store"
    made = await on.instances.webhooks.generated_secret()
    if made is None:
        return SharedSecretAnswer(source="WEBHOOK_SECRET", secret=None)
    return SharedSecretAnswer(source="generated", secret=made.get_secret_value())


@router.get("/{endpoint_id}", summary="One receiver")
async def endpoint(endpoint_id: Identifier, on: Exchange) -> EndpointAnswer:
    return _endpoint(await on.instances.webhooks.endpoint(endpoint_id, on.asker.project))


@router.delete("/{endpoint_id}", summary="Tell a receiver no more")
async def remove(endpoint_id: Identifier, on: Exchange) -> GoneAnswer:
    await on.instances.webhooks.delete(endpoint_id, on.asker.project)
    return GoneAnswer(message=f"{endpoint_id} is told no more.")


@router.post("/{endpoint_id}/test", status_code=HTTPStatus.ACCEPTED, summary="Send a test event")
async def test(endpoint_id: Identifier, on: Exchange) -> DeliveryAnswer:
    return _delivery(await on.instances.webhooks.test(endpoint_id, on.asker.project))


def _row_of(delivery_id: str) -> int:
    """Return the number that the id of a delivery is; what is no number is no delivery."""
    if not delivery_id.isdecimal() or int(delivery_id) > MOST_ROWS:
        raise Missing(Thing.OTHER, delivery_id)
    return int(delivery_id)


def _endpoint(row: EndpointRow) -> EndpointAnswer:
    return EndpointAnswer(
        id=row.id,
        origin=row.origin,
        url=None if row.url is None else str(shown(row.url)),
        events=list(row.events),
        project=row.project,
        created_at=row.created_at,
        created_by=row.created_by,
    )


def _delivery(found: DeliveryView) -> DeliveryAnswer:
    return DeliveryAnswer(
        id=found.id,
        endpoint_id=found.endpoint_id,
        message_id=found.message_id,
        event=found.event,
        instance_id=found.instance_id,
        sequence=found.sequence,
        status=found.status,
        attempts=found.attempts,
        next_attempt_at=found.next_attempt_at,
        created_at=found.created_at,
        finished_at=found.finished_at,
        log=[_attempt(each) for each in found.log],
    )


def _attempt(found: Attempt) -> DeliveryAttemptAnswer:
    return DeliveryAttemptAnswer(
        at=found.at, status=found.status, latency_ms=found.latency_ms, error=found.error
    )
