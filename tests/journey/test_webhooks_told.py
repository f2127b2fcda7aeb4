"""What receivers are told of starts, health checks and migrations, by a real server."""

import json
from collections.abc import Iterator

import pytest
from standardwebhooks import Webhook

from tests.support.catcher import Caught, catching
from tests.support.home import Details, Home, at_home, part, parts, until

OVER = ("operation.succeeded", "operation.failed")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as opened:
        yield opened


def told(caught: Caught, kind: str) -> dict[str, Details]:
    """Return what was told until an operation of a kind was over, by the names of the events."""

    def look() -> Details:
        return {str(body["event"]): body for body in map(json.loads, caught.bodies("/"))}

    def is_over(found: Details) -> bool:
        return any(part(found, name, "details", "kind") == kind for name in OVER if name in found)

    found = until(look, is_over)
    return {name: body for name, body in found.items() if isinstance(body, dict)}


def details_of(body: Details) -> Details:
    found = body["instance"]
    assert isinstance(found, dict)
    return found


def test_the_address_that_a_start_names_hears_of_the_start_and_of_each_endpoint(home: Home) -> None:
    instance_id = home.exited()
    with catching() as caught:
        home.asked(instance_id, "start", {"webhookUrl": caught.url})
        home.waited(instance_id, "ready")
        heard = told(caught, "start")
    starting = heard["instance.starting"]
    assert starting["previousStatus"] == "exited"
    assert part(starting, "startupOperation", "kind") == "start"
    assert part(starting, "startupOperation", "status") == "open"
    assert part(heard["operation.succeeded"], "startupOperation", "outcome") == "succeeded"
    shown, said = home.looked(instance_id), details_of(heard["operation.succeeded"])
    assert set(said) <= {*shown, "phase"}
    for name in ("pricePerHour", "lastUsedAt", "dataExpiresAt", "startedAt", "readyAt", "portMappings"):
        assert said.get(name) == shown[name], name
    for name in ("instance.ready", "instance.usable"):
        assert part(heard[name], "healthCheck", "overall") == "healthy"
        endpoints = parts(heard[name], "healthCheck", "endpoints")
        assert {each["port"]: each["status"] for each in endpoints} == dict.fromkeys(
            (22, 8888, 6006), "healthy"
        )


def test_an_administrator_can_look_up_what_signs_for_a_receiver_that_a_request_names(home: Home) -> None:
    answer = home.api.get("/api/webhooks/secret")
    assert answer.headers["Cache-Control"] == "no-store"
    shown = answer.json()
    assert shown["source"] == "generated"
    with catching() as caught:
        home.created(webhookUrl=caught.url)
        told(caught, "create")
        [(_, headers, body), *_] = caught.requests
    Webhook(shown["secret"]).verify(body, headers)
    lines = home.api.get("/api/audit", params={"action": "GET /api/webhooks/secret"}).json()["entries"]
    assert [line["outcome"] for line in lines] == ["done"]


def test_a_start_that_is_refused_leaves_the_address_as_it_was(home: Home) -> None:
    instance_id = home.running()
    with catching() as caught:
        refused = home.asking(instance_id, "start", {"webhookUrl": caught.url})
        assert refused.status_code == 409
        home.asked(instance_id, "stop")
        home.waited(instance_id, "exited")
        assert caught.bodies("/") == []


def test_a_start_that_is_never_healthy_tells_which_endpoint_is_not(home: Home) -> None:
    instance_id = home.exited()
    upstream = home.looked(instance_id)["novitaInstanceId"]
    home.control(f"/app/{upstream}", status=503)
    config = {"retryDelayMs": 100, "maxWaitTimeMs": 1000, "timeoutMs": 500}
    with catching() as caught:
        home.asked(instance_id, "start", {"webhookUrl": caught.url, "healthCheckConfig": config})
        heard = told(caught, "start")
    failed = heard["instance.failed"]
    assert part(failed, "error", "code") == "HEALTH_CHECK_TIMEOUT"
    assert part(failed, "error", "stillBilled") is True
    assert part(failed, "healthCheck", "overall") == "partial"
    by_port = {each["port"]: each["errorCategory"] for each in parts(failed, "healthCheck", "endpoints")}
    assert by_port == {22: None, 8888: "bad_status", 6006: "bad_status"}


def test_a_migration_is_told_as_such(home: Home) -> None:
    with catching() as caught:
        instance_id = home.running(webhookUrl=caught.url, billingMode="onDemand")
        asked = home.asked(instance_id, "migrate", {"acceptDataLoss": True})
        heard = told(caught, "migrate")
    operation = asked["operationId"]
    assert heard["instance.migrating"]["migration"] == {
        "operationId": operation,
        "status": "migrating",
        "reclaimed": False,
    }
    assert part(heard["instance.migrated"], "migration", "status") == "migrated"
    assert "startupOperation" not in heard["instance.migrated"]
    assert part(heard["instance.migrated"], "details", "novitaInstanceId")
