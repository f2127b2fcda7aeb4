"""Deliveries for tests: telling, taking, recording and showing them, each in a transaction of its own.

The terms stand in for time that has gone by: a lease, a hold or a patience of nothing is over at once.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from ostler.notify.claims import Taken, claim, record
from ostler.notify.outbound import Reply
from ostler.store.database import Database
from ostler.store.webhook_deliveries import DeliveryStatus, NewDelivery, insert_deliveries
from ostler.store.webhook_endpoints import EndpointRow, Origin, put_endpoint
from ostler.store.webhook_leases import Claimed, Terms
from ostler.store.webhook_views import DeliveryFilter, DeliveryView, list_deliveries

AT = datetime(2026, 3, 1, tzinfo=UTC)
TERMS = Terms("one", timedelta(seconds=25), timedelta(seconds=60), timedelta(days=3))
AT_ONCE = timedelta(0)
LOST_AT_ONCE = Terms("one", AT_ONCE, timedelta(seconds=60), timedelta(days=3))  # as if its holder had died
STUCK_AT_ONCE = Terms("one", timedelta(seconds=25), AT_ONCE, timedelta(days=3))  # as if a minute had passed
HOPELESS = Terms("one", timedelta(seconds=25), timedelta(seconds=60), AT_ONCE)  # as if three days had passed
TAKEN_WELL = Reply(200, 12)
BROKEN = Reply(500, 3, "HTTP 500")
EVERYTHING = DeliveryFilter()


async def register_two(database: Database) -> None:
    """Make two endpoints to deliver to."""
    for name in ("a", "b"):
        row = EndpointRow(name, Origin.REGISTERED, f"https://{name}.example/", AT)
        await database.write(partial(put_endpoint, endpoint=row))


async def told(database: Database, *lines: tuple[str, str | None], endpoint: str = "a") -> None:
    """Write one delivery per event, each an (event, instance) pair, in this order."""
    for event, instance_id in lines:
        new = NewDelivery(endpoint, f"msg_{event}", event, f'{{"event":"{event}"}}', instance_id=instance_id)
        await database.write(partial(insert_deliveries, new=[new]))


async def taken(database: Database, room: int = 64, terms: Terms = TERMS) -> Sequence[Claimed]:
    result: Taken = await database.write(lambda connection: claim(connection, room, terms))
    return result.deliveries


async def events_taken(database: Database, room: int = 64) -> list[str]:
    return [each.event for each in await taken(database, room)]


async def recorded(database: Database, claimed: Claimed, reply: Reply) -> DeliveryStatus | None:
    return await database.write(lambda connection: record(connection, claimed, reply))


async def shown(database: Database, wanted: DeliveryFilter = EVERYTHING) -> Sequence[DeliveryView]:
    return await database.read(lambda connection: list_deliveries(connection, wanted))


async def the_only(database: Database) -> DeliveryView:
    (view,) = await shown(database)
    return view
