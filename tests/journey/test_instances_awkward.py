"""What awkward users do over HTTP: they change their mind half-way, ask twice, and send nonsense."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, unquote

import pytest

from tests.support.home import (
    CLOUD_API,
    Details,
    Home,
    a_name,
    at_home,
    code_of,
    details_in,
    part,
    parts,
    until,
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


@pytest.fixture
def slowly(home: Home) -> Iterator[None]:
    """What takes the cloud seconds takes seconds."""
    with home.slowly():
        yield


def alive(home: Home, name: str) -> list[Details]:
    """Return what the cloud bills under a name."""
    ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
    return [each for each in ledger if str(each["name"]).startswith(f"{name}--") and each["alive"]]


def outcomes(home: Home, instance_id: str) -> list[tuple[object, object]]:
    """Return how each operation ended, oldest first."""
    found = home.listed(instance_id, "operations")
    return [(each["kind"], each["outcome"]) for each in reversed(found)]


def hurried(home: Home) -> None:
    home.control("/clock", speed=60)


def test_a_delete_while_creating_removes_what_the_cloud_makes_of_it(home: Home) -> None:
    name = a_name()
    home.control("/faults", fault="latency", seconds=1.5, route="POST *create")
    instance_id = home.created(name=name)
    deleted = home.asked(instance_id, "delete")
    assert deleted["status"] == "terminating"
    home.waited(instance_id, "terminated")
    assert alive(home, name) == []
    assert outcomes(home, instance_id) == [("create", "superseded"), ("delete", "succeeded")]


def test_a_delete_while_a_create_is_ambiguous_still_finds_what_the_cloud_made(home: Home) -> None:
    name = a_name()
    home.control("/faults", fault="resetAfter", route="POST *create")
    instance_id = home.created(name=name)
    home.asked(instance_id, "delete")
    home.waited(instance_id, "terminated")
    assert alive(home, name) == []


def test_a_stop_while_creating_is_remembered_and_carried_out(home: Home) -> None:
    home.control("/faults", fault="latency", seconds=1.5, route="POST *create")
    instance_id = home.created()
    stopped = home.asked(instance_id, "stop")
    assert stopped["status"] in {"creating", "starting", "stopping"}
    assert home.waited(instance_id, "exited")["stopReason"] == "user"
    assert outcomes(home, instance_id) == [("create", "superseded"), ("stop", "succeeded")]


def test_a_stop_while_starting_supersedes_the_start(home: Home) -> None:
    instance_id = home.exited()
    with home.slowly():
        start = home.asked(instance_id, "start")
        home.asked(instance_id, "stop")
        assert home.ended(start["operationId"])["outcome"] == "superseded"
    home.waited(instance_id, "exited")
    assert outcomes(home, instance_id)[-2:] == [("start", "superseded"), ("stop", "succeeded")]


@pytest.mark.usefixtures("slowly")
def test_a_start_while_stopping_is_a_conflict_that_names_the_operation(home: Home) -> None:
    instance_id = running_slowly(home)
    stop = home.asked(instance_id, "stop")
    refused = home.asking(instance_id, "start")
    assert code_of(refused) == (409, "OPERATION_IN_PROGRESS")
    details = part(details_in(refused), "error", "details")
    assert part(details, "operationId") == stop["operationId"]
    assert part(details, "kind") == "stop"
    assert part(details, "state") == "stopping"


@pytest.mark.usefixtures("slowly")
def test_a_start_while_starting_is_a_startup_in_progress(home: Home) -> None:
    instance_id = exited_slowly(home)
    start = home.asked(instance_id, "start")
    refused = home.asking(instance_id, "start")
    assert code_of(refused) == (409, "STARTUP_OPERATION_IN_PROGRESS")
    assert part(details_in(refused), "error", "details", "operationId") == start["operationId"]
    assert code_of(home.asking(instance_id, "restart")) == (409, "OPERATION_IN_PROGRESS")
    migrate = home.asking(instance_id, "migrate", {"acceptDataLoss": True})
    assert code_of(migrate) == (409, "OPERATION_IN_PROGRESS")


def running_slowly(home: Home) -> str:
    """Return an instance that runs, while the cloud's time runs as ours."""
    hurried(home)
    instance_id = home.running()
    home.control("/clock", speed=1)
    return instance_id


def exited_slowly(home: Home) -> str:
    """Return an instance that is stopped, while the cloud's time runs as ours."""
    hurried(home)
    instance_id = home.exited()
    home.control("/clock", speed=1)
    return instance_id


def test_what_does_not_fit_the_state_is_told_with_the_state(home: Home) -> None:
    running, exited = home.running(), home.exited()
    start = home.asking(running, "start")
    assert code_of(start) == (409, "INSTANCE_NOT_STARTABLE")
    assert part(details_in(start), "error", "details", "state") == "running"
    assert code_of(home.asking(exited, "restart")) == (409, "INSTANCE_NOT_STARTABLE")
    home.asked(exited, "delete")
    home.waited(exited, "terminated")
    for verb, code in (("start", "INSTANCE_NOT_STARTABLE"), ("stop", "INSTANCE_NOT_STOPPABLE")):
        assert code_of(home.asking(exited, verb)) == (409, code)


def test_asking_the_same_again_is_the_same_operation(home: Home) -> None:
    instance_id = home.running()
    with home.slowly():
        stop = home.asked(instance_id, "stop")
        assert home.asked(instance_id, "stop")["operationId"] == stop["operationId"]
    home.waited(instance_id, "exited")
    once_more = home.asked(instance_id, "stop")
    assert (once_more["status"], once_more["operationId"]) == ("exited", stop["operationId"])
    assert outcomes(home, instance_id) == [("create", "succeeded"), ("stop", "succeeded")]


def test_deleting_twice_at_once_and_again_is_one_delete(home: Home) -> None:
    instance_id = home.running()
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda _: home.asked(instance_id, "delete"), range(6)))
    home.waited(instance_id, "terminated")
    answers.append(home.asked(instance_id, "delete"))
    assert len({answer["operationId"] for answer in answers}) == 1
    assert answers[-1]["status"] == "terminated"
    assert outcomes(home, instance_id) == [("create", "succeeded"), ("delete", "succeeded")]


def test_deleting_what_the_cloud_has_lost_already_ends_well(home: Home) -> None:
    instance_id = home.running()
    upstream = home.looked(instance_id)["novitaInstanceId"]
    removed = home.cloud.post(f"{CLOUD_API}/gpu/instance/delete", json={"instanceId": upstream})
    assert removed.status_code == 200
    home.asked(instance_id, "delete")
    home.waited(instance_id, "terminated")
    assert outcomes(home, instance_id)[-1] == ("delete", "succeeded")


def test_stopping_what_the_cloud_has_lost_already_fails_and_says_why(home: Home) -> None:
    instance_id = home.running()
    upstream = home.looked(instance_id)["novitaInstanceId"]
    home.cloud.post(f"{CLOUD_API}/gpu/instance/delete", json={"instanceId": upstream})
    operation = home.ended(home.asked(instance_id, "stop")["operationId"])
    assert (operation["outcome"], part(operation, "error", "code")) == ("failed", "INSTANCE_GONE")
    told = [each for each in home.listed(instance_id, "events") if each["event"] == "operation.failed"]
    assert [part(each, "details", "error", "code") for each in told] == ["INSTANCE_GONE"]


def test_what_is_removed_behind_our_back_is_found_out(home: Home) -> None:
    instance_id = home.running()
    upstream = home.looked(instance_id)["novitaInstanceId"]
    home.cloud.post(f"{CLOUD_API}/gpu/instance/delete", json={"instanceId": upstream})
    found = home.waited(instance_id, "terminated", 90)
    assert found["status"] == "terminated"


def test_what_is_stopped_behind_our_back_is_found_out(home: Home) -> None:
    instance_id = home.running()
    upstream = home.looked(instance_id)["novitaInstanceId"]
    home.cloud.post(f"{CLOUD_API}/gpu/instance/stop", json={"instanceId": upstream})
    home.api.post("/api/instances/sync")
    found = until(lambda: home.looked(instance_id), lambda seen: seen["status"] == "exited")
    assert found["stopReason"] == "platform"


_ASKED = (
    *("GET instances/{}", "GET instances/{}/events", "GET instances/{}/credentials", "GET instances/{}/cost"),
    *("GET instances/{}/logs", "GET instances/{}/metrics", "DELETE instances/{}", "POST instances/{}/start"),
    *("POST instances/{}/stop", "PUT instances/{}/last-used", "GET operations/{}", "GET jobs/{}"),
    *("POST jobs/{}/retry", "GET keys/{}", "DELETE keys/{}", "GET webhooks/{}", "POST webhooks/{}/test"),
    *("GET webhooks/deliveries/{}", "POST webhooks/deliveries/{}/replay", "POST orphans/{}/adopt"),
)
_FILTERS = ("jobs?instanceId={}", "events?limit=1&instanceId={}", "webhooks/deliveries?endpointId={}")
_NOBODY = ["none", "a" * 100, "-_-", "23obsirprzc26mwc4k6gclwdml", "9" * 30]
_GARBAGE = ["..x", "a" * 101, "1' OR '1'='1", "%F0%9F%A6%84", "a.b", "%20", "a%0A"]


@pytest.mark.parametrize("nobody", _NOBODY)
def test_an_id_that_nothing_has_is_not_found_whatever_is_asked_of_it(home: Home, nobody: str) -> None:
    for asked in _ASKED:
        method, _, path = asked.partition(" ")
        answer = home.api.request(method, f"/api/{path.format(nobody)}")
        assert answer.status_code == 404, (asked, answer.text)
        assert code_of(answer)[1].endswith("NOT_FOUND")
    assert home.api.patch(f"/api/instances/{nobody}", json={"name": "a"}).status_code == 404
    for asked in _FILTERS:
        assert home.api.get(f"/api/{asked.format(nobody)}").status_code == 200


@pytest.mark.parametrize("garbage", _GARBAGE)
def test_an_id_that_can_be_none_is_refused_by_field_whatever_is_asked_of_it(home: Home, garbage: str) -> None:
    told = set()
    for asked in (*_ASKED, *(f"GET {each}" for each in _FILTERS)):
        method, _, path = asked.partition(" ")
        answer = home.api.request(method, f"/api/{path.format(quote(unquote(garbage), safe=''))}")
        assert code_of(answer) == (400, "VALIDATION_ERROR"), (asked, answer.text)
        (wrong,) = answer.json()["error"]["validationErrors"]
        assert wrong["message"] == "must be an id: letters, digits, `-` and `_`, at most 100 of them"
        told.add((wrong["field"], wrong["code"]))
    assert ("instanceId", "INVALID_INSTANCE_ID") in told
    assert ("deliveryId", "INVALID_DELIVERY_ID") in told


def test_what_an_id_may_be_stands_in_the_document(home: Home) -> None:
    document = home.api.get("/openapi.json").json()
    told = part(document, "paths", "/api/instances/{instance_id}", "get", "parameters", 0)
    assert part(told, "schema", "pattern") == "^[A-Za-z0-9_-]{1,100}$"


@pytest.mark.parametrize(
    "name", ["a" * 101, "ünï-cödé", "🦄", "", "a b", "a/b", "a\x00b", None, 7, ["a"], {"a": 1}]
)
def test_a_name_that_is_none_is_refused_as_such(home: Home, name: object) -> None:
    answer = home.api.post("/api/instances", json=home.body(name=name))
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    wrong = answer.json()["error"]["validationErrors"]
    assert [(each["field"], each["code"]) for each in wrong] == [("name", "INVALID_INSTANCE_NAME")]


@pytest.mark.parametrize("name", ["a", "A-b_9", "-", "a" * 100, "x--os-1-2-3"])
def test_a_name_at_the_edge_of_what_is_allowed_is_kept_as_it_is(home: Home, name: str) -> None:
    instance_id = home.running(name=name)
    assert home.looked(instance_id)["name"] == name


@pytest.mark.parametrize("body", [b"[]", b"7", b'"text"', b"null", b"{", b'{"name": "a",}', b"\xff", b"NaN"])
def test_a_body_that_is_no_object_is_refused(home: Home, body: bytes) -> None:
    answer = home.api.post("/api/instances", content=body, headers={"Content-Type": "application/json"})
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert [each["field"] for each in answer.json()["error"]["validationErrors"]] == ["body"]


def test_numbers_beyond_all_measure_are_refused_and_harm_nothing(home: Home) -> None:
    for value in ("1e400", "-1e400", "123456789012345678901234567890", "0.1e-400"):
        body = f'{{"name":"a","productName":"b","templateId":1,"maxPricePerHour":{value},"gpuNum":{value}}}'
        answer = home.api.post("/api/instances", content=body, headers={"Content-Type": "application/json"})
        assert code_of(answer) == (400, "VALIDATION_ERROR"), value


def test_words_of_any_tongue_are_kept_in_labels(home: Home) -> None:
    instance_id = home.created(labels={"owner": "Žofie 🦄 أمل"})
    assert home.looked(instance_id)["labels"] == {"owner": "Žofie 🦄 أمل"}


@pytest.mark.parametrize("last_seen", ["9" * 5000, "9223372036854775807", "-1", "x", "٣"])
def test_following_from_an_id_of_no_log_begins_with_a_reset(home: Home, last_seen: str) -> None:
    headers = [(b"Accept", b"text/event-stream"), (b"Last-Event-ID", last_seen.encode())]
    with home.api.stream("GET", "/api/events", headers=headers) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("event:"))
        assert next(lines) == "event: reset"
