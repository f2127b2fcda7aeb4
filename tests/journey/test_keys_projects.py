"""A key of one project: what lies outside it cannot be seen, named or touched; it does not exist."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import httpx2
import pytest

from ostler.api.permissions import PERMISSIONS
from ostler.clock import SystemClock
from ostler.domain.roles import Role
from tests.support.home import Home, at_home, code_of, details_in, part, parts

_MADE_UP = "777"
_BODIES: Mapping[str, object] = {
    "PATCH /api/instances/{instance_id}": {"labels": {"a": "b"}},
    "POST /api/instances/{instance_id}/migrate": {"acceptDataLoss": True},
}
_BY_ID = [row for row, who in PERMISSIONS.items() if "{" in row and "{template_id}" not in row]
_LISTS = [
    "/api/instances",
    "/api/instances?source=all",
    "/api/instances/comprehensive",
    "/api/events?after=0&limit=500",
    "/api/jobs?limit=500",
    "/api/webhooks",
    "/api/webhooks/deliveries",
    "/api/keys?revoked=true",
]


@dataclass(frozen=True, slots=True)
class Others:
    """What another project has, by the parameters of routes, and a client whose key is not of it."""

    home: Home
    ids: Mapping[str, str]
    client: httpx2.Client


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Others]:
    with at_home(tmp_path_factory.mktemp("ostler")) as home:
        key = a_key(home, "their admin", Role.ADMIN, "blue")
        with home.server.client(str(key["key"])) as client:
            yield Others(home, everything_of(home, "red"), client)


def a_key(home: Home, name: str, role: Role, project: str | None = None) -> dict[str, object]:
    made = home.api.post("/api/keys", json={"name": name, "role": role, "project": project})
    assert made.status_code == 201, made.text
    return details_in(made)


def everything_of(home: Home, project: str) -> Mapping[str, str]:
    """Make one of everything in a project; return it by the parameters of routes."""
    receiver = {"url": "http://127.0.0.1:9/nobody", "project": project}
    endpoint = home.api.post("/api/webhooks", json=receiver).json()["id"]
    instance = home.exited(project=project)
    delivery = home.api.get(f"/api/webhooks/deliveries?endpointId={endpoint}")
    job = home.api.get(f"/api/jobs?instanceId={instance}")
    return {
        "instance_id": instance,
        "name": str(home.looked(instance)["name"]),
        "operation_id": str(home.listed(instance, "operations")[0]["id"]),
        "endpoint_id": str(endpoint),
        "delivery_id": str(parts(delivery.json(), "deliveries")[0]["id"]),
        "job_id": str(parts(job.json(), "jobs")[0]["id"]),
        "key_id": str(a_key(home, f"key of {project}", Role.VIEWER, project)["id"]),
    }


@pytest.mark.parametrize("row", [row for row in _BY_ID if not PERMISSIONS[row].is_about_everything])
def test_what_another_project_has_is_answered_like_what_does_not_exist(others: Others, row: str) -> None:
    method, _, path = row.partition(" ")
    parameter = path[path.index("{") + 1 : path.index("}")]
    theirs = others.ids[parameter]

    def asked(named: str) -> str:
        answer = others.client.request(method, path.replace(f"{{{parameter}}}", named), json=_BODIES.get(row))
        assert answer.status_code == 404, answer.text
        error = answer.json()["error"]
        return str([error["code"], error["message"], error["details"]]).replace(named, "…")

    assert asked(theirs) == asked(_MADE_UP)


@pytest.mark.parametrize("verb", ["start", "stop", "delete"])
def test_another_projects_instance_is_not_found_by_its_name(others: Others, verb: str) -> None:
    answer = others.client.post(f"/api/instances/{verb}", json={"instanceName": others.ids["name"]})
    assert code_of(answer) == (404, "INSTANCE_NOT_FOUND")


@pytest.mark.parametrize("path", _LISTS)
def test_no_list_shows_anything_of_another_project(others: Others, path: str) -> None:
    theirs = {others.ids[kind] for kind in ("instance_id", "name", "operation_id", "endpoint_id", "key_id")}
    everything, seen = others.home.api.get(path).text, others.client.get(path)
    assert seen.status_code == 200, seen.text
    assert any(each in everything for each in theirs), "the list would show it to those who see all"
    assert not [each for each in theirs if each in seen.text]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/instances?project=red", None),
        ("GET", "/api/events?project=red", None),
        ("GET", "/api/keys?project=red", None),
        ("POST", "/api/instances/stop-all", {"confirm": True, "project": "red"}),
        ("POST", "/api/webhooks", {"url": "http://127.0.0.1:9/x", "project": "red"}),
        ("POST", "/api/keys", {"name": "spy", "role": "viewer", "project": "red"}),
    ],
)
def test_another_project_cannot_be_asked_for(others: Others, method: str, path: str, body: object) -> None:
    answer = others.client.request(method, path, json=body)
    assert code_of(answer) == (403, "FORBIDDEN")
    assert part(answer.json(), "error", "details") == {"asked": "red", "project": "blue"}


def test_what_is_created_belongs_to_the_keys_project_and_says_who_did_it(others: Others) -> None:
    refused = others.client.post("/api/instances", json=others.home.body(project="red"))
    assert code_of(refused) == (403, "FORBIDDEN")
    made = details_in(others.client.post("/api/instances", json=others.home.body()))
    instance_id = str(made["instanceId"])
    assert others.home.looked(instance_id)["project"] == "blue"
    assert others.home.listed(instance_id, "operations")[0]["askedBy"] == "their admin"
    assert others.home.listed(instance_id, "events")[0]["actor"] == "their admin"
    stopped = others.client.post("/api/instances/stop-all", json={"confirm": True}).json()
    assert others.ids["instance_id"] not in stopped["operations"]
    assert instance_id in stopped["operations"] or instance_id in stopped["refused"]


def test_two_keys_never_share_an_idempotency_key(others: Others) -> None:
    body = others.home.body()
    sent = {"Idempotency-Key": "the same"}
    by_one = others.client.post("/api/instances", json=body, headers=sent).json()["instanceId"]
    again = others.client.post("/api/instances", json=body, headers=sent).json()["instanceId"]
    by_other = others.home.api.post("/api/instances", json=body, headers=sent).json()["instanceId"]
    assert by_one == again
    assert by_other != by_one


def test_a_projects_administrator_has_its_keys_alone(others: Others) -> None:
    made = details_in(others.client.post("/api/keys", json={"name": "helper", "role": "operator"}))
    assert made["project"] == "blue"
    listed = {str(each["name"]) for each in parts(others.client.get("/api/keys").json(), "keys")}
    assert listed == {"their admin", "helper"}
    assert others.client.delete(f"/api/keys/{made['id']}").json()["status"] == "revoked"


def test_a_live_stream_tells_nothing_of_another_project_and_ends_with_its_key(others: Others) -> None:
    home = others.home
    key = a_key(home, "listener", Role.VIEWER, "blue")
    accept = {"accept": "text/event-stream"}
    with (
        home.server.client(str(key["key"])) as client,
        client.stream("GET", "/api/events?after=0", headers=accept) as stream,
    ):
        assert stream.status_code == 200
        home.api.patch(f"/api/instances/{others.ids['instance_id']}", json={"labels": {"x": "y"}})
        home.api.delete(f"/api/keys/{key['id']}").raise_for_status()
        heard = "".join(stream.iter_text())  # to its end
    assert others.ids["instance_id"] not in heard
    assert others.ids["name"] not in heard


def test_who_waits_with_a_key_is_told_that_it_has_ended(others: Others) -> None:
    home = others.home
    ended_at = SystemClock().now() + timedelta(seconds=2)
    body = {"name": "short", "role": "viewer", "expiresAt": ended_at.isoformat()}
    key = details_in(home.api.post("/api/keys", json=body))
    path = f"/api/instances/{others.ids['instance_id']}?waitFor=terminated&timeoutSeconds=100"
    with home.server.client(str(key["key"])) as client:
        assert code_of(client.get(path)) == (401, "AUTHENTICATION_ERROR")
