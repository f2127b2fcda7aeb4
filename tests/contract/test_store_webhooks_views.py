"""The webhook tables as people use them: lists, counts, cancelling, clean-up, endpoints; on both kinds."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ostler.store.database import Database
from ostler.store.webhook_deliveries import DeliveryStatus, webhook_deliveries
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
    subscribers,
)
from ostler.store.webhook_views import (
    DeliveryFilter,
    cancel,
    count_deliveries,
    delete_finished_deliveries,
    find_body,
)
from tests.support.deliveries import (
    AT,
    AT_ONCE,
    EVERYTHING,
    TAKEN_WELL,
    events_taken,
    recorded,
    register_two,
    shown,
    taken,
    the_only,
    told,
)


@pytest.fixture(autouse=True)
async def endpoints(database: Database) -> None:
    await register_two(database)


async def test_a_cancelled_delivery_is_not_sent_and_frees_its_line(database: Database) -> None:
    await told(database, ("first", "i-1"), ("second", "i-1"))
    first = (await shown(database))[-1]
    is_first = webhook_deliveries.c.id == first.id
    assert await database.write(lambda connection: cancel(connection, is_first)) == 1
    assert await events_taken(database) == ["second"]
    (left,) = await shown(database, DeliveryFilter(statuses=[DeliveryStatus.CANCELLED]))
    assert left.id == first.id


async def test_lists_are_newest_first_and_keep_to_their_filter(database: Database) -> None:
    await told(database, ("one", "i-1"), ("two", "i-2"), ("three", "i-1"))
    await told(database, ("four", "i-1"), endpoint="b")

    async def events(wanted: DeliveryFilter) -> list[str]:
        return [view.event for view in await shown(database, wanted)]

    assert await events(EVERYTHING) == ["four", "three", "two", "one"]
    assert await events(DeliveryFilter(instance_id="i-1", endpoint_id="a")) == ["three", "one"]
    assert await events(DeliveryFilter(event="two")) == ["two"]
    assert await events(DeliveryFilter(statuses=[DeliveryStatus.DELIVERED])) == []
    second = (await shown(database))[1]
    assert await events(DeliveryFilter(before_id=second.id, limit=1)) == ["two"]


async def test_counts_tell_how_much_waits_and_since_when(database: Database) -> None:
    await told(database, ("one", "i-1"), ("two", "i-1"))
    (claimed,) = await taken(database, 1)
    await recorded(database, claimed, TAKEN_WELL)
    counts = {each.status: each for each in await database.read(count_deliveries)}
    assert {status: each.count for status, each in counts.items()} == {
        DeliveryStatus.DELIVERED: 1,
        DeliveryStatus.WAITING: 1,
    }
    assert counts[DeliveryStatus.WAITING].oldest_due_at is not None
    assert counts[DeliveryStatus.DELIVERED].oldest_due_at is None


async def test_what_ended_long_ago_is_removed_and_nothing_else(database: Database) -> None:
    await told(database, ("one", "i-1"), ("two", "i-2"), ("three", "i-3"))
    one, two, _ = await taken(database)
    await recorded(database, one, TAKEN_WELL)
    await recorded(database, two, TAKEN_WELL)
    week = partial(delete_finished_deliveries, kept_for=timedelta(days=7), limit=10)
    assert await database.write(week) == 0
    now = partial(delete_finished_deliveries, kept_for=AT_ONCE, limit=1)
    assert [await database.write(now) for _ in range(3)] == [1, 1, 0]
    assert (await the_only(database)).event == "three"
    assert await database.read(lambda connection: find_body(connection, one.id)) is None


async def test_an_endpoint_goes_with_its_deliveries(database: Database) -> None:
    await told(database, ("one", "i-1"))
    await told(database, ("two", "i-1"), endpoint="b")
    assert await database.write(lambda connection: delete_endpoint(connection, "a"))
    assert not await database.write(lambda connection: delete_endpoint(connection, "a"))
    assert (await the_only(database)).event == "two"
    with pytest.raises(IntegrityError):
        await told(database, ("three", "i-1"))


async def test_a_result_for_an_endpoint_that_is_no_more_is_dropped(database: Database) -> None:
    await told(database, ("one", "i-1"))
    (claimed,) = await taken(database)
    await database.write(lambda connection: delete_endpoint(connection, "a"))
    assert await recorded(database, claimed, TAKEN_WELL) is None


async def test_the_default_endpoint_subscribes_while_it_has_a_url(database: Database) -> None:
    default = EndpointRow(DEFAULT_ID, Origin.DEFAULT, None, AT, secret=b"sealed")

    def ids(connection: Connection) -> list[str]:
        return [each.id for each in subscribers(connection)]

    assert await database.write(lambda connection: put_endpoint(connection, default))
    assert not await database.write(lambda connection: put_endpoint(connection, default))
    assert await database.read(ids) == ["a", "b"]
    assert await database.write(lambda connection: set_default_url(connection, "https://c.example/"))
    assert not await database.write(lambda connection: set_default_url(connection, "https://c.example/"))
    assert await database.read(ids) == ["a", "b", DEFAULT_ID]
    kept = await database.read(lambda connection: find_endpoint(connection, DEFAULT_ID))
    assert kept is not None
    assert kept.secret == b"sealed"


async def test_endpoints_are_listed_oldest_first_and_in_pages(database: Database) -> None:
    later = AT + timedelta(seconds=1)
    for row in (
        EndpointRow("c", Origin.IMPLICIT, "https://c.example/", later),
        EndpointRow("d", Origin.REGISTERED, "https://d.example/", later, "blue", ("instance.*",)),
    ):
        await database.write(partial(put_endpoint, endpoint=row))

    async def ids(wanted: EndpointFilter) -> list[str]:
        return [row.id for row in await database.read(lambda connection: list_endpoints(connection, wanted))]

    assert await ids(EndpointFilter()) == ["a", "b", "c", "d"]
    assert await ids(EndpointFilter(origin=Origin.REGISTERED, project="blue")) == ["d"]
    assert await ids(EndpointFilter(after=(AT, "a"), limit=2)) == ["b", "c"]
    found = await database.read(lambda connection: find_endpoint(connection, "d"))
    assert found is not None
    assert found.events == ("instance.*",)
