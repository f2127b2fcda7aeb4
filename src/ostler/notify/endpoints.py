"""What people do with webhooks: register, show, delete and test endpoints; see and replay deliveries.

One verb each, for the API to call; `project` is that of the caller's key, and nothing of another project is
shown or touched. A secret is returned by `register` and by nothing else, but for the installation's own,
which administrators may look up to set up a receiver of implicit webhooks.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.errors import FixedBySetting, Missing, Thing
from ostler.domain.keys import project_for
from ostler.notify.body import TEST_EVENT, ping_body
from ostler.notify.endpoint_requests import EndpointWish
from ostler.notify.fanout import new_message_id
from ostler.notify.keyring import Keyring
from ostler.notify.signing import UnusableSecret, new_secret, weakness_of
from ostler.store.database import Database
from ostler.store.webhook_deliveries import NewDelivery, insert_deliveries, webhook_deliveries
from ostler.store.webhook_endpoints import (
    DEFAULT_ID,
    EndpointFilter,
    EndpointRow,
    Origin,
    delete_endpoint,
    find_endpoint,
    list_endpoints,
    put_endpoint,
    set_default_url,
)
from ostler.store.webhook_views import (
    LAST_ID,
    DeliveryFilter,
    DeliveryView,
    cancel,
    find_body,
    find_delivery,
    list_deliveries,
    replay,
)
from ostler.usecases.audit import note_subject, write_signed

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Registered:
    """A new endpoint, and its secret for the only time."""

    endpoint: EndpointRow
    secret: SecretStr
    warning: str | None = None  # about the secret that was given


class Webhooks:
    """The use cases of endpoints and deliveries."""

    def __init__(self, database: Database, keyring: Keyring, clock: Clock) -> None:
        self._database = database
        self._keyring = keyring
        self._clock = clock

    async def settle(self, default_url: str | None) -> None:
        """At start: make the default endpoint, point it to WEBHOOK_URL, warn of a weak WEBHOOK_SECRET."""
        self._judge_configured_secret()
        made = EndpointRow(
            DEFAULT_ID,
            Origin.DEFAULT,
            default_url,
            self._clock.now(),
            secret=self._keyring.sealed(new_secret()),
        )
        await self._database.write(lambda connection: _settle(connection, made))

    async def register(self, wish: EndpointWish, created_by: str, project: str | None = None) -> Registered:
        """Make an endpoint; that of a caller with a project hears of this project alone."""
        secret = wish.secret or new_secret()
        endpoint = EndpointRow(
            id=f"wh_{secrets.token_hex(10)}",
            origin=Origin.REGISTERED,
            url=wish.url,
            created_at=self._clock.now(),
            project=project_for(wish.project, project),
            events=wish.events,
            secret=self._keyring.sealed(secret),
            created_by=created_by,
        )
        note_subject("webhook", endpoint.id, endpoint.project)
        await write_signed(self._database, lambda connection: put_endpoint(connection, endpoint))
        return Registered(endpoint, secret, weakness_of(secret))

    async def endpoints(self, wanted: EndpointFilter) -> Sequence[EndpointRow]:
        """Return endpoints, oldest first."""
        return await self._database.read(lambda connection: list_endpoints(connection, wanted))

    async def endpoint(self, endpoint_id: str, project: str | None = None) -> EndpointRow:
        """Return one endpoint; raise Missing."""
        return await self._database.read(lambda connection: _endpoint(connection, endpoint_id, project))

    async def delete(self, endpoint_id: str, project: str | None = None) -> None:
        """Remove a registered or implicit endpoint with its deliveries; raise Missing or FixedBySetting."""

        def work(connection: Connection) -> None:
            found = _endpoint(connection, endpoint_id, project)
            if found.origin is Origin.DEFAULT:
                raise FixedBySetting(endpoint_id, "WEBHOOK_URL")
            delete_endpoint(connection, endpoint_id)

        await write_signed(self._database, work)

    async def test(self, endpoint_id: str, project: str | None = None) -> DeliveryView:
        """Send a test event to an endpoint; raise Missing, or FixedBySetting where there is no address."""
        message_id = new_message_id()
        body = ping_body(message_id, self._clock.now())

        def work(connection: Connection) -> DeliveryView:
            found = _endpoint(connection, endpoint_id, project)
            if found.url is None:  # while it is not set
                raise FixedBySetting(endpoint_id, "WEBHOOK_URL")
            new = NewDelivery(found.id, message_id, TEST_EVENT, body, project=found.project)
            insert_deliveries(connection, [new])
            newest = DeliveryFilter(endpoint_id=found.id, event=TEST_EVENT, limit=1)
            return list_deliveries(connection, newest)[0]

        return await write_signed(self._database, work)

    async def deliveries(self, wanted: DeliveryFilter) -> Sequence[DeliveryView]:
        """Return deliveries, newest first."""
        return await self._database.read(lambda connection: list_deliveries(connection, wanted))

    async def delivery(self, delivery_id: int, project: str | None = None) -> tuple[DeliveryView, str]:
        """Return one delivery with what it carries; raise Missing."""

        def work(connection: Connection) -> tuple[DeliveryView, str]:
            return _delivery(connection, delivery_id, project), find_body(connection, delivery_id) or ""

        return await self._database.read(work)

    async def replay(self, delivery_id: int, project: str | None = None) -> DeliveryView:
        """Send a delivery again, under the same message id; raise Missing."""

        def work(connection: Connection) -> DeliveryView:
            _delivery(connection, delivery_id, project)
            replay(connection, delivery_id)
            return _delivery(connection, delivery_id, project)

        return await write_signed(self._database, work)

    async def cancel(self, delivery_id: int, project: str | None = None) -> DeliveryView:
        """Do not try a waiting delivery again; raise Missing."""

        def work(connection: Connection) -> DeliveryView:
            _delivery(connection, delivery_id, project)
            cancel(connection, webhook_deliveries.c.id == delivery_id)
            return _delivery(connection, delivery_id, project)

        return await write_signed(self._database, work)

    async def generated_secret(self) -> SecretStr | None:
        """Return what signs for endpoints without a secret of their own; None: WEBHOOK_SECRET does."""
        if self._keyring.configured is not None:
            return None
        return self._keyring.shared(await self.endpoint(DEFAULT_ID))

    def _judge_configured_secret(self) -> None:
        if self._keyring.configured is None:
            return
        try:
            weakness = weakness_of(self._keyring.configured)
        except UnusableSecret as error:
            weakness = f"cannot sign: {error}"
        if weakness is not None:
            _log.warning("WEBHOOK_SECRET is weak", problem=weakness)


def _settle(connection: Connection, default: EndpointRow) -> None:
    if put_endpoint(connection, default):
        return
    if set_default_url(connection, default.url) and default.url is None:
        cancel(connection, webhook_deliveries.c.endpoint_id == DEFAULT_ID)


def _endpoint(connection: Connection, endpoint_id: str, project: str | None) -> EndpointRow:
    found = find_endpoint(connection, endpoint_id)
    if found is None or (project is not None and found.project != project):
        raise Missing(Thing.OTHER, endpoint_id)
    note_subject("webhook", endpoint_id, found.project)
    return found


def _delivery(connection: Connection, delivery_id: int, project: str | None) -> DeliveryView:
    found = find_delivery(connection, delivery_id) if 0 < delivery_id <= LAST_ID else None
    if found is None or (project is not None and found.project != project):
        raise Missing(Thing.OTHER, str(delivery_id))
    note_subject("delivery", str(delivery_id), found.project)
    return found
