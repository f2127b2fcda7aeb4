"""From an event to deliveries: who hears, what is said, what is never said."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.cloud.upstream import Connection as WaysIn
from ostler.cloud.upstream import Endpoint, Upstream
from ostler.domain.catalogue import Protocol
from ostler.domain.events import PublicEvent
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Instance, accepted
from ostler.domain.lifecycle import State
from ostler.domain.upstream import UpstreamState
from ostler.domain.work import Work
from ostler.notify.body import event_body
from ostler.notify.fanout import fan_out
from ostler.notify.subscriptions import hears, implicit_id, matches, unknown_filters
from ostler.store.events import EventRow
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.store.instances import InstanceRow
from ostler.store.sealing import FernetSealer
from ostler.store.webhook_endpoints import (
    DEFAULT_ID,
    EndpointFilter,
    EndpointRow,
    Origin,
    list_endpoints,
    put_endpoint,
)
from ostler.store.webhook_views import DeliveryFilter, DeliveryView, find_body, list_deliveries
from ostler.usecases.details import keep_look
from ostler.usecases.record import Edit, Occasion, Recorder
from tests.support.builders import INSTANCE_ID, NOW, UPSTREAM_ID, a_failure, a_spec, an_instance
from tests.support.cloud import LoopClock

READY = EventRow(
    name=PublicEvent.READY,
    at=NOW,
    instance_id=INSTANCE_ID,
    sequence=7,
    from_state="health_checking",
    to_state="ready",
    elapsed=timedelta(seconds=93.25),
    id=41,
)
CANARY = "canary-of-an-environment-value"


@pytest.fixture
def storage() -> Iterator[InlineStorage]:
    storage = InlineStorage(LoopClock())
    with contextlib.closing(storage):
        yield storage


@pytest.fixture
async def database(storage: InlineStorage) -> InlineDatabase:
    return InlineDatabase(storage)


def a_row(webhook_url: str | None = None, instance: Instance | None = None) -> InstanceRow:
    spec = replace(a_spec(), webhook_url=webhook_url, envs={"TOKEN": CANARY}, labels={"team": "blue"})
    return InstanceRow(replace(instance or an_instance(State.READY), spec=spec))


async def listen(database: InlineDatabase, *endpoints: EndpointRow) -> None:
    for endpoint in endpoints:
        await database.write(partial(put_endpoint, endpoint=endpoint))


def an_endpoint(name: str, *events: str, project: str | None = None) -> EndpointRow:
    return EndpointRow(name, Origin.REGISTERED, f"https://{name}.example/", NOW, project, events)


async def told(database: InlineDatabase, event: EventRow, row: InstanceRow | None) -> list[DeliveryView]:
    await database.write(lambda connection: fan_out(connection, event, row))
    found = await database.read(partial(list_deliveries, wanted=DeliveryFilter()))
    return sorted(found, key=lambda view: view.id)


async def test_every_endpoint_that_wants_an_event_gets_one_delivery_of_one_message(
    database: InlineDatabase,
) -> None:
    await listen(
        database, an_endpoint("a"), an_endpoint("b", "instance.ready"), an_endpoint("c", "instance.failed")
    )
    one, other = await told(database, READY, a_row())
    assert (one.endpoint_id, other.endpoint_id) == ("a", "b")
    assert one.message_id == other.message_id
    assert (one.event, one.event_id, one.instance_id, one.sequence) == ("instance.ready", 41, INSTANCE_ID, 7)


async def test_nobody_listening_costs_nothing(database: InlineDatabase) -> None:
    assert await told(database, READY, a_row()) == []


async def test_the_url_of_a_request_is_an_endpoint_of_its_own_and_the_same_for_all_requests(
    database: InlineDatabase,
) -> None:
    row = a_row("https://mine.example/hook")
    await told(database, READY, row)
    first, second = await told(database, READY, row)
    assert first.endpoint_id == second.endpoint_id == implicit_id("https://mine.example/hook")
    (endpoint,) = await database.read(partial(list_endpoints, wanted=EndpointFilter()))
    assert (endpoint.origin, endpoint.url, endpoint.secret) == (
        Origin.IMPLICIT,
        "https://mine.example/hook",
        None,
    )


async def test_a_request_does_not_silence_the_default_receiver(database: InlineDatabase) -> None:
    default = EndpointRow(DEFAULT_ID, Origin.DEFAULT, "https://all.example/", NOW)
    await listen(database, default)
    views = await told(database, READY, a_row("https://mine.example/"))
    assert [view.endpoint_id for view in views] == [DEFAULT_ID, implicit_id("https://mine.example/")]


async def test_a_receiver_that_is_meant_twice_hears_once(database: InlineDatabase) -> None:
    await listen(database, EndpointRow(DEFAULT_ID, Origin.DEFAULT, "https://all.example/", NOW))
    (view,) = await told(database, READY, a_row("https://all.example/"))
    assert view.endpoint_id == DEFAULT_ID


async def test_news_of_no_instance_go_to_whoever_hears_of_everything(database: InlineDatabase) -> None:
    await listen(database, an_endpoint("a"), an_endpoint("b", project="blue"))
    (view,) = await told(database, EventRow(PublicEvent.ACCOUNT_LOW_BALANCE, NOW, id=3), None)
    assert (view.endpoint_id, view.instance_id) == ("a", None)


async def test_the_recorder_writes_deliveries_with_the_event_or_not_at_all(database: InlineDatabase) -> None:
    await listen(database, an_endpoint("a"))
    recorder = Recorder(no_work, [fan_out])
    edit = Edit(accepted(INSTANCE_ID, a_row().instance.spec, None, NOW))

    def fails(connection: Connection) -> None:
        recorder.admit(connection, edit, Occasion(NOW))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(fails)
    assert await database.read(partial(list_deliveries, wanted=DeliveryFilter())) == []
    await database.write(lambda connection: recorder.admit(connection, edit, Occasion(NOW)))
    (view,) = await database.read(partial(list_deliveries, wanted=DeliveryFilter()))
    assert (view.event, view.sequence) == ("instance.creating", 1)
    body = await database.read(partial(find_body, delivery_id=view.id))
    assert body is not None
    assert CANARY not in body


def no_work(connection: Connection, work: Work) -> None:
    """Take work in and forget it."""


async def test_a_transaction_wakes_the_sender_after_its_commit(database: InlineDatabase) -> None:
    await listen(database, an_endpoint("a"))
    rung = asyncio.Event()
    database.signals.listen("webhooks", rung.set)
    await told(database, READY, a_row())
    async with asyncio.timeout(1):
        await rung.wait()


def test_a_body_says_what_happened_to_whom_and_how_long_it_took() -> None:
    said = json.loads(event_body(replace(READY, reason="all healthy"), a_row(), None))
    assert said["event"] == "instance.ready"
    assert said["instanceId"] == INSTANCE_ID
    assert said["novitaInstanceId"] == UPSTREAM_ID
    assert (said["status"], said["previousStatus"]) == ("ready", "health_checking")
    assert said["timestamp"] == "2026-03-01T12:00:00.000Z"
    assert (said["sequence"], said["elapsedTime"], said["reason"]) == (7, 93_250, "all healthy")
    instance = said["instance"]
    assert (instance["name"], instance["status"], instance["gpuNum"]) == ("demo", "ready", 1)
    assert instance["labels"] == {"team": "blue"}


def test_a_body_never_carries_environment_values_or_the_receivers_url() -> None:
    body = event_body(READY, a_row("https://receiver.example/secret-path"), None)
    assert CANARY not in body
    assert "TOKEN" not in body
    assert "secret-path" not in body


async def test_a_body_carries_the_ways_in_without_their_passwords(database: InlineDatabase) -> None:
    await listen(database, an_endpoint("a"))
    ways = WaysIn(
        ssh_command="ssh root@there -p 22",
        ssh_password=SecretStr("pass-canary-1"),
        jupyter_url="https://jupyter.example",
        web_terminal_password=SecretStr("pass-canary-2"),
    )
    look = Upstream(
        id=UPSTREAM_ID,
        name="x",
        status="running",
        state=UpstreamState.RUNNING,
        observed_at=NOW,
        endpoints=(Endpoint(8080, Protocol.HTTP, "https://app.example"),),
        connection=ways,
    )
    recorder = Recorder(no_work, [fan_out])
    edit = Edit(accepted(INSTANCE_ID, a_row().instance.spec, None, NOW))

    def work(connection: Connection) -> None:
        recorder.admit(connection, edit, Occasion(NOW))
        keep_look(connection, INSTANCE_ID, look, FernetSealer(SecretStr("key")))

    await database.write(work)
    view = (await told(database, READY, a_row()))[-1]
    body = await database.read(partial(find_body, delivery_id=view.id)) or ""
    instance = json.loads(body)["instance"]
    assert instance["portMappings"] == [{"port": 8080, "endpoint": "https://app.example", "type": "http"}]
    assert instance["connectionDetails"] == {
        "ssh": "ssh root@there -p 22",
        "jupyter": "https://jupyter.example",
    }
    assert "pass-canary" not in body


def test_the_ways_into_an_upstream_that_was_replaced_are_not_told() -> None:
    ports = (Endpoint(8080, Protocol.HTTP, "https://app.example"),)
    look = Upstream(UPSTREAM_ID, "x", "running", UpstreamState.RUNNING, NOW, endpoints=ports)
    assert "portMappings" in json.loads(event_body(READY, a_row(), look))["instance"]
    other = replace(look, id="another")
    assert "portMappings" not in json.loads(event_body(READY, a_row(), other))["instance"]


def test_a_failure_says_why_and_whether_money_runs() -> None:
    failed = replace(
        an_instance(State.FAILED),
        error=Failure(FailureCode.STARTUP_TIMEOUT, "late", NOW, "wait", still_billed=True),
    )
    event = replace(READY, name=PublicEvent.FAILED, to_state="failed")
    assert json.loads(event_body(event, a_row(instance=failed), None))["error"] == {
        "code": "STARTUP_TIMEOUT",
        "message": "late",
        "at": "2026-03-01T12:00:00.000Z",
        "hint": "wait",
        "retryable": True,
        "stillBilled": True,
    }
    ended = replace(event, name=PublicEvent.OPERATION_FAILED, to_state="exited")
    gave_up = replace(failed, state=State.EXITED)
    assert json.loads(event_body(ended, a_row(instance=gave_up), None))["error"]["message"] == "late"
    recovered = replace(failed, error=a_failure())
    assert "error" not in json.loads(event_body(READY, a_row(instance=recovered), None))


def test_health_checks_and_migrations_have_their_own_places() -> None:
    details = {"healthCheck": {"overall": "healthy"}, "kind": "start"}
    said = json.loads(event_body(replace(READY, details=details), a_row(), None))
    assert (said["healthCheck"], said["details"]) == ({"overall": "healthy"}, {"kind": "start"})
    migrated = json.loads(event_body(replace(READY, name=PublicEvent.MIGRATED), a_row(), None))
    assert migrated["migration"] == {"status": "migrated", "reclaimed": False}


@pytest.mark.parametrize(
    ("endpoint", "is_heard"),
    [
        (an_endpoint("a"), True),
        (an_endpoint("a", "instance.ready"), True),
        (an_endpoint("a", "instance.*"), True),
        (an_endpoint("a", "*"), True),
        (an_endpoint("a", "operation.*", "instance.ready"), True),
        (an_endpoint("a", "instance.read"), False),
        (an_endpoint("a", "operation.*"), False),
        (an_endpoint("a", project="blue"), True),
        (an_endpoint("a", project="red"), False),
    ],
)
def test_an_endpoint_hears_by_name_and_project(endpoint: EndpointRow, *, is_heard: bool) -> None:
    assert hears(endpoint, replace(READY, project="blue")) is is_heard


def test_a_filter_that_means_nothing_is_known_as_such() -> None:
    assert unknown_filters(["instance.*", "instance.raedy", "orphan.found", "nothing.*"]) == [
        "instance.raedy",
        "nothing.*",
    ]
    assert not matches("instance.health", "instance.health_checking")
