"""From an event to its deliveries: one row per endpoint that wants it, in the event's own transaction.

Given to the recorder as a sink (`usecases/record.py`). What is written here stands or falls with the event;
nothing is sent from here. A receiver that is meant twice, by its own endpoint and by a request, gets an
event once.
"""

import secrets
from collections.abc import Sequence

from sqlalchemy import Connection

from ostler.notify.body import event_body
from ostler.notify.subscriptions import hears, implicit_id
from ostler.store.events import EventRow
from ostler.store.instances import InstanceRow
from ostler.store.operations import find_operation
from ostler.store.webhook_deliveries import NewDelivery, insert_deliveries
from ostler.store.webhook_endpoints import EndpointRow, Origin, put_endpoint, subscribers
from ostler.usecases.details import last_look


def fan_out(connection: Connection, event: EventRow, row: InstanceRow | None) -> None:
    """Write the deliveries of an event."""
    endpoint_ids = [each.id for each in _listeners(connection, event, row)]
    if not endpoint_ids:
        return
    look = None if row is None else last_look(connection, row.instance.id)
    found = None if event.operation_id is None else find_operation(connection, event.operation_id)
    body = event_body(event, row, look, None if found is None else found.operation)
    message_id = new_message_id()
    insert_deliveries(
        connection,
        [
            NewDelivery(
                endpoint_id,
                message_id,
                event.name.value,
                body,
                event_id=event.id,
                instance_id=event.instance_id,
                sequence=event.sequence,
                project=event.project,
            )
            for endpoint_id in endpoint_ids
        ],
    )


def new_message_id() -> str:
    """Return the id by which receivers know a message again."""
    return f"msg_{secrets.token_hex(12)}"


def _listeners(connection: Connection, event: EventRow, row: InstanceRow | None) -> Sequence[EndpointRow]:
    found = [each for each in subscribers(connection) if hears(each, event)]
    url = None if row is None else row.instance.spec.webhook_url
    if url is not None and url not in {each.url for each in found}:
        implicit = EndpointRow(implicit_id(url), Origin.IMPLICIT, url, event.at)
        put_endpoint(connection, implicit)
        found.append(implicit)
    return found
