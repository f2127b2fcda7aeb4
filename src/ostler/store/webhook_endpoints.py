"""The table of webhook endpoints: where events are sent, which ones, and signed with what.

The row `DEFAULT` is made at start and stays: its URL is `WEBHOOK_URL` or null, and its secret, made once,
signs whatever has none of its own. An *implicit* endpoint is the `webhookUrl` of a request, one row per
URL. Secrets are sealed; who may open them is not this table's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache

from sqlalchemy import (
    Column,
    Connection,
    Executable,
    Index,
    LargeBinary,
    String,
    Table,
    delete,
    select,
    text,
    update,
)
from sqlalchemy import RowMapping as Row

from ostler.store.encoded import Encoded
from ostler.store.inserting import inserting
from ostler.store.instants import Instant
from ostler.store.schema import metadata


class Origin(StrEnum):
    """How an endpoint came to be."""

    REGISTERED = "registered"  # by a person, until it is deleted
    DEFAULT = "default"  # WEBHOOK_URL
    IMPLICIT = "implicit"  # named by a request; hears of its instances only


DEFAULT_ID = "default"
_SUBSCRIBES = text("origin <> 'implicit'")

webhook_endpoints = Table(
    "webhook_endpoints",
    metadata,
    Column("id", String, primary_key=True),
    Column("origin", String, nullable=False),
    Column("url", String, nullable=True),  # null: the default one, while WEBHOOK_URL is not set
    Column("project", String, nullable=True),  # null: of all projects
    Column(
        "events", Encoded(tuple[str, ...]), nullable=False
    ),  # names, or beginnings that end in `*`; none: all
    Column("secret", LargeBinary, nullable=True),  # sealed; null: the default one's
    Column("created_at", Instant, nullable=False),
    Column("created_by", String, nullable=False),
    Index("ix_webhook_endpoints_subscribes", "id", sqlite_where=_SUBSCRIBES, postgresql_where=_SUBSCRIBES),
    Index("ix_webhook_endpoints_listed", "created_at", "id"),
)


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """An endpoint as it stands in the store."""

    id: str
    origin: Origin
    url: str | None
    created_at: datetime
    project: str | None = None
    events: tuple[str, ...] = ()
    secret: bytes | None = None
    created_by: str = "ostler"


@dataclass(frozen=True, slots=True)
class EndpointFilter:
    """Which endpoints to list, oldest first; `after` continues behind the last one of a page."""

    origin: Origin | None = None
    project: str | None = None
    after: tuple[datetime, str] | None = None
    limit: int = 100


def put_endpoint(connection: Connection, endpoint: EndpointRow) -> bool:
    """Write an endpoint unless one of its id is there; tell whether it was written."""
    return connection.execute(_putting(connection.dialect.name), _values(endpoint)).first() is not None


def set_default_url(connection: Connection, url: str | None) -> bool:
    """Point the default endpoint to another URL, or to none; tell whether that was news."""
    is_news = webhook_endpoints.c.url.is_distinct_from(url)
    statement = update(webhook_endpoints).where(webhook_endpoints.c.id == DEFAULT_ID, is_news).values(url=url)
    return connection.execute(statement).rowcount > 0


def subscribers(connection: Connection) -> Sequence[EndpointRow]:
    """Return the endpoints that hear of more than the instances of one request."""
    return [endpoint_row(found) for found in connection.execute(_SUBSCRIBERS).mappings()]


def find_endpoint(connection: Connection, endpoint_id: str) -> EndpointRow | None:
    """Return one endpoint, or None."""
    query = select(webhook_endpoints).where(webhook_endpoints.c.id == endpoint_id)
    found = connection.execute(query).mappings().first()
    return None if found is None else endpoint_row(found)


def endpoints_by_id(connection: Connection, ids: Sequence[str]) -> dict[str, EndpointRow]:
    """Return those of the named endpoints that exist."""
    query = select(webhook_endpoints).where(webhook_endpoints.c.id.in_(ids))
    return {found["id"]: endpoint_row(found) for found in connection.execute(query).mappings()}


def list_endpoints(connection: Connection, wanted: EndpointFilter) -> Sequence[EndpointRow]:
    """Return a page of endpoints, oldest first."""
    order = (webhook_endpoints.c.created_at, webhook_endpoints.c.id)
    query = select(webhook_endpoints).order_by(*order).limit(wanted.limit)
    if wanted.origin is not None:
        query = query.where(webhook_endpoints.c.origin == wanted.origin.value)
    if wanted.project is not None:
        query = query.where(webhook_endpoints.c.project == wanted.project)
    if wanted.after is not None:
        at, endpoint_id = wanted.after
        is_later = webhook_endpoints.c.created_at > at
        is_behind = (webhook_endpoints.c.created_at == at) & (webhook_endpoints.c.id > endpoint_id)
        query = query.where(is_later | is_behind)
    return [endpoint_row(found) for found in connection.execute(query).mappings()]


def delete_endpoint(connection: Connection, endpoint_id: str) -> bool:
    """Remove an endpoint with all its deliveries; False when there is none."""
    statement = delete(webhook_endpoints).where(webhook_endpoints.c.id == endpoint_id)
    return connection.execute(statement).rowcount > 0


def endpoint_row(found: Row) -> EndpointRow:
    """Return the endpoint of a row of all columns."""
    return EndpointRow(
        id=found["id"],
        origin=Origin(found["origin"]),
        url=found["url"],
        created_at=found["created_at"],
        project=found["project"],
        events=found["events"],
        secret=found["secret"],
        created_by=found["created_by"],
    )


@cache
def _putting(dialect: str) -> Executable:
    new = inserting(dialect)(webhook_endpoints)
    return new.on_conflict_do_nothing().returning(webhook_endpoints.c.id)


_SUBSCRIBERS = (
    select(webhook_endpoints)
    .where(_SUBSCRIBES, webhook_endpoints.c.url.is_not(None))
    .order_by(webhook_endpoints.c.id)
)


def _values(endpoint: EndpointRow) -> dict[str, object]:
    return {
        "id": endpoint.id,
        "origin": endpoint.origin.value,
        "url": endpoint.url,
        "project": endpoint.project,
        "events": endpoint.events,
        "secret": endpoint.secret,
        "created_at": endpoint.created_at,
        "created_by": endpoint.created_by,
    }
