"""The life of an instance over HTTP, as a user leads it: created, used, stopped, started, deleted."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.support.home import PRODUCT, Home, a_name, at_home, code_of, details_in, part, parts, until


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def test_a_create_without_a_check_is_usable_once_it_runs(home: Home) -> None:
    name = a_name()
    answer = home.api.post("/api/instances", json=home.body(name=name, labels={"team": "blue"}))
    accepted = details_in(answer)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/instances/{accepted['instanceId']}"
    assert accepted["status"] == "creating"
    assert {"instanceId", "status", "message", "estimatedReadyTime", "operationId"} == set(accepted)

    found = home.waited(str(accepted["instanceId"]), "ready")

    assert (found["name"], found["status"], found["phase"]) == (name, "running", None)
    assert (found["productName"], found["templateId"], found["gpuNum"]) == (PRODUCT, "102", 1)
    assert (found["billingMode"], found["rootfsSize"], found["labels"]) == ("spot", 60, {"team": "blue"})
    assert found["readyAt"] == found["firstReadyAt"]
    assert (found["error"], found["healthCheck"], found["operation"]) == (None, None, None)
    assert found["pricePerHour"] == 0.195
    assert {each["port"]: each["type"] for each in parts(found, "portMappings")} == {
        22: "tcp",
        8888: "http",
        6006: "http",
    }
    assert all(each["endpoint"] for each in parts(found, "portMappings"))
    assert str(part(found, "connectionDetails", "ssh")).startswith("ssh ")
    assert "assword" not in str(found)


def test_a_create_with_a_check_is_ready_once_every_endpoint_answers(home: Home) -> None:
    found = home.waited(home.created(healthCheck=True), "ready")
    assert found["status"] == "ready"
    assert part(found, "healthCheck", "overall") == "healthy"
    endpoints = parts(found, "healthCheck", "endpoints")
    assert {each["port"] for each in endpoints} == {22, 8888, 6006}
    for each in endpoints:
        assert each["status"] == "healthy"
        assert {"responseTimeMs", "lastChecked", "errorCategory", "message"} <= set(each)


def test_stop_start_and_restart_each_end_as_they_should_with_their_phases(home: Home) -> None:
    instance_id = home.created(healthCheck={"targetPort": 8888})
    first = home.waited(instance_id, "ready")

    stop = home.asked(instance_id, "stop")
    assert (stop["status"], stop["novitaInstanceId"]) == ("stopping", first["novitaInstanceId"])
    exited = home.waited(instance_id, "exited")
    assert (exited["status"], exited["stopReason"], exited["error"]) == ("exited", "user", None)

    start = home.asked(instance_id, "start")
    assert start["status"] == "starting"
    assert start["estimatedReadyTime"]
    again = home.waited(instance_id, "ready")
    assert (again["status"], again["firstReadyAt"]) == ("ready", first["firstReadyAt"])
    assert str(again["readyAt"]) > str(first["readyAt"])

    restart = home.asked(instance_id, "restart")
    home.ended(restart["operationId"])
    assert home.looked(instance_id)["status"] == "ready"

    operations = home.listed(instance_id, "operations")
    assert [each["kind"] for each in operations] == ["restart", "start", "stop", "create"]
    for each in operations:
        assert (each["status"], each["outcome"]) == ("ended", "succeeded")
        phases = parts(each, "phases")
        assert phases
        ends = [phase["endedAt"] for phase in phases]
        assert [phase["beganAt"] for phase in phases[1:]] == ends[:-1]
        assert ends[-1] == each["endedAt"]
        assert details_in(home.api.get(f"/api/operations/{each['id']}")) == each


def test_passwords_are_at_credentials_alone_and_change_at_each_start(home: Home) -> None:
    instance_id = home.running()
    before = details_in(home.api.get(f"/api/instances/{instance_id}/credentials"))
    home.asked(instance_id, "stop")
    home.waited(instance_id, "exited")
    home.asked(instance_id, "start")
    home.waited(instance_id, "ready")
    after = details_in(home.api.get(f"/api/instances/{instance_id}/credentials"))
    assert before["sshPassword"]
    assert after["sshPassword"]
    assert before["sshPassword"] != after["sshPassword"]
    assert str(after["sshPassword"]) not in home.api.get(f"/api/instances/{instance_id}").text


def test_everything_can_be_asked_by_name(home: Home) -> None:
    name = a_name()
    instance_id = home.running(name=name)
    found = details_in(home.api.get(f"/api/instances/by-name/{name}"))
    assert found["id"] == instance_id
    stopped = home.api.post("/api/instances/stop", json={"instanceName": name})
    assert (stopped.status_code, stopped.json()["instanceId"]) == (202, instance_id)
    home.waited(instance_id, "exited")
    started = home.api.post("/api/instances/start", json={"instanceName": name, "targetPort": 8888})
    assert (started.status_code, started.json()["status"]) == (202, "starting")
    assert home.waited(instance_id, "ready")["status"] == "ready"
    deleted = home.api.post("/api/instances/delete", json={"instanceName": name})
    assert (deleted.status_code, deleted.json()["status"]) == (202, "terminating")


@pytest.mark.parametrize("asked", ["POST /{id}/stop", "POST /{id}/restart", "DELETE /{id}", "POST /sync"])
def test_what_takes_no_fields_refuses_them_by_name_and_does_nothing(home: Home, asked: str) -> None:
    instance_id = home.running()
    method, path = asked.split()
    path = path.format(id=instance_id)
    refused = home.api.request(method, f"/api/instances{path}", json={"force": True})
    assert code_of(refused) == (400, "VALIDATION_ERROR")
    wrong = parts(details_in(refused), "error", "validationErrors")
    assert [(each["field"], each["code"]) for each in wrong] == [("force", "UNKNOWN_FIELD")]
    assert home.looked(instance_id)["status"] == "running"
    assert home.api.request(method, f"/api/instances{path}", json={}).is_success


def test_a_verb_under_the_same_key_is_asked_once(home: Home) -> None:
    instance_id, key = home.exited(), {"Idempotency-Key": a_name()}
    path, body = f"/api/instances/{instance_id}", {"targetPort": 8888}
    first = home.api.post(f"{path}/start", json=body, headers=key)
    again = home.api.post(f"{path}/start", json=body, headers=key)
    home.waited(instance_id, "ready")
    late = home.api.post(f"{path}/start", json=body, headers=key)
    assert [each.status_code for each in (first, again, late)] == [202] * 3
    assert len({each.json()["operationId"] for each in (first, again, late)}) == 1
    for other, said in ((path, {}), (f"/api/instances/{home.created()}", body)):
        reused = home.api.post(f"{other}/start", json=said, headers=key)
        assert code_of(reused) == (422, "IDEMPOTENCY_KEY_REUSED")
    restarted = [home.api.post(f"{path}/restart", headers=key).json()["operationId"]]
    home.ended(restarted[0])
    restarted.append(home.api.post(f"{path}/restart", headers=key).json()["operationId"])
    assert restarted[0] == restarted[1]
    assert [each["kind"] for each in home.listed(instance_id, "operations")].count("restart") == 1


def test_a_delete_by_name_may_be_repeated_under_its_key_when_the_name_is_gone(home: Home) -> None:
    name, key = a_name(), {"Idempotency-Key": a_name()}
    instance_id = home.created(name=name)
    first = home.api.post("/api/instances/delete", json={"instanceName": name}, headers=key).json()
    home.waited(instance_id, "terminated")
    again = home.api.post("/api/instances/delete", json={"instanceName": name}, headers=key)
    assert (again.status_code, again.json()["operationId"]) == (202, first["operationId"])


def test_what_is_terminated_is_neither_changed_nor_used(home: Home) -> None:
    instance_id = home.created()
    home.asked(instance_id, "delete")
    home.waited(instance_id, "terminated")
    path = f"/api/instances/{instance_id}"
    for answer in (home.api.patch(path, json={"name": "ghost"}), home.api.put(f"{path}/last-used")):
        assert code_of(answer) == (409, "INSTANCE_TERMINATED")
    assert home.looked(instance_id)["name"] != "ghost"


def test_a_mark_of_use_says_what_is_kept(home: Home) -> None:
    path = f"/api/instances/{home.created()}/last-used"
    last = home.api.put(path).json()
    assert last["message"] == "Noted."
    earlier = home.api.put(path, json={"lastUsedAt": "2020-01-01T00:00:00Z"}).json()
    assert earlier["lastUsedAt"] == last["lastUsedAt"]
    assert "later" in earlier["message"]
    ahead = home.api.put(path, json={"lastUsedAt": "2100-01-01T00:00:00Z"}).json()
    assert "future" in ahead["message"]


def test_a_delete_ends_once_the_cloud_has_let_go_and_says_what_it_cost(home: Home) -> None:
    name = a_name()
    instance_id = home.running(name=name)
    deleted = home.asked(instance_id, "delete")
    found = home.waited(instance_id, "terminated")
    operation = home.ended(deleted["operationId"])
    assert (operation["kind"], operation["outcome"]) == ("delete", "succeeded")
    assert operation["cost"] == home.looked(instance_id)["costSoFar"]
    assert operation["cost"] != 0
    listed = {each["kind"]: each["cost"] for each in home.listed(instance_id, "operations")}
    assert listed == {"delete": operation["cost"], "create": None}
    ending = home.listed(instance_id, "events")[-1]
    assert (ending["event"], ending["operationId"]) == ("operation.succeeded", deleted["operationId"])
    assert part(ending, "details", "cost") == found["costSoFar"] != 0
    assert code_of(home.api.get(f"/api/instances/by-name/{name}")) == (404, "INSTANCE_NOT_FOUND")
    ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
    upstream = next(each for each in ledger if each["id"] == found["novitaInstanceId"])
    assert upstream["alive"] is False


def test_the_time_line_is_gapless_and_tells_who_what_and_from_where_to_where(home: Home) -> None:
    instance_id = home.running(healthCheck=True)
    home.waited(instance_id, "ready")
    events = home.listed(instance_id, "events")
    assert [each["sequence"] for each in events] == list(range(1, len(events) + 1))
    ids = [int(str(each["id"])) for each in events]
    assert ids == sorted(set(ids))
    names = [each["event"] for each in events]
    assert names[0] == "instance.creating"
    assert names.count("instance.usable") == 1
    wanted = ["instance.placed", "instance.running", "instance.health_checking", "instance.ready"]
    assert [name for name in names if name in wanted] == wanted
    states = [(each["from"], each["to"]) for each in events]
    assert (states[0], events[0]["actor"]) == ((None, "creating"), "admin")
    assert all(before[1] in {after[0], after[1]} for before, after in pairwise(states))
    later = home.api.get(f"/api/instances/{instance_id}/events", params={"after": 2, "limit": 1}).json()
    assert [each["sequence"] for each in later["events"]] == [3]


def test_a_patch_changes_what_it_names_and_leaves_the_rest(home: Home) -> None:
    instance_id = home.created(labels={"team": "blue"}, ttlSeconds=3600, maxCost=2.5)
    name = a_name()
    changed = home.api.patch(
        f"/api/instances/{instance_id}",
        json={"name": name, "labels": {"team": "red"}, "ttlSeconds": None, "idleStopMinutes": 15},
    )
    assert changed.status_code == 200
    found = home.looked(instance_id)
    assert (found["name"], found["labels"]) == (name, {"team": "red"})
    assert (found["ttlSeconds"], found["maxCost"], found["idleStopMinutes"]) == (None, 2.5, 15)
    refused = home.api.patch(f"/api/instances/{instance_id}", json={"gpuNum": 2, "maxCost": -1})
    assert code_of(refused) == (400, "VALIDATION_ERROR")
    wrong = {each["field"]: each["code"] for each in refused.json()["error"]["validationErrors"]}
    assert wrong == {"gpuNum": "UNKNOWN_FIELD", "maxCost": "INVALID_LIMIT"}
    assert code_of(home.api.patch(f"/api/instances/{instance_id}")) == (400, "VALIDATION_ERROR")


def test_the_last_use_only_moves_forward_and_never_into_the_future(home: Home) -> None:
    instance_id = home.created()
    path = f"/api/instances/{instance_id}/last-used"
    assert home.looked(instance_id)["lastUsedAt"] is None
    at = home.api.put(path).json()["lastUsedAt"]
    assert home.looked(instance_id)["lastUsedAt"] == at
    earlier = home.api.put(path, json={"lastUsedAt": "2020-01-01T00:00:00Z"})
    assert (earlier.status_code, earlier.json()["lastUsedAt"]) == (200, at)
    later = home.api.put(path, json={"lastUsedAt": "2999-01-01T00:00:00Z"})
    assert at < later.json()["lastUsedAt"] < "2999"
    assert code_of(home.api.put(path, json={"lastUsedAt": "yesterday"})) == (400, "VALIDATION_ERROR")
    assert code_of(home.api.put("/api/instances/none/last-used")) == (404, "INSTANCE_NOT_FOUND")


def test_environment_values_go_in_and_never_come_out(home: Home) -> None:
    instance_id = home.running(envs={"TOKEN": "canary-of-the-environment"})
    for path in ("", "/events", "/attempts", "/operations"):
        assert "canary" not in home.api.get(f"/api/instances/{instance_id}{path}").text
    assert "canary" not in home.api.get("/api/events", params={"limit": 500}).text
    upstream = home.looked(instance_id)["novitaInstanceId"]
    seen = home.cloud.get(
        "/gpu-instance/openapi/v1/gpu/instance", params={"instanceId": str(upstream)}
    ).json()
    assert {"key": "TOKEN", "value": "canary-of-the-environment"} in seen["envs"]


def test_a_stopped_instance_tells_until_when_its_disk_is_kept(home: Home) -> None:
    instance_id = home.exited()
    known = until(lambda: home.looked(instance_id), lambda found: found["dataExpiresAt"] is not None)
    assert str(known["dataExpiresAt"]) > str(known["createdAt"])
    assert parts(known, "portMappings") != []
    home.asked(instance_id, "start")
    assert home.waited(instance_id, "ready")["dataExpiresAt"] is None
