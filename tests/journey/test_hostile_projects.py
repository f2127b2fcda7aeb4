"""The holder of one project's key, who would like to know of another project, or to touch it.

Every operation of the document is tried with what is the other's and with what never was; both are answered
alike, so that nothing is learnt, not even that it is there. A new route is tried by itself.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import httpx2
import pytest

from ostler.domain.roles import Role
from tests.support.databases import KINDS
from tests.support.document import Operation, operations
from tests.support.home import Home, a_name, at_home_on, part, parts, until

WORD = "bluecanary"  # in every name that the other project gives
SHARED = {"template_id", "key"}  # the cloud's, and the caches': nobody's own
BODIES: Mapping[str, Mapping[str, object]] = {
    "POST /api/instances/{instance_id}/migrate": {"acceptDataLoss": True},
    "PATCH /api/instances/{instance_id}": {"labels": {"taken": "over"}},
}


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two projects of one server: what is blue's, and clients with red's keys by role."""

    home: Home
    blue: Mapping[str, str]
    red: Mapping[Role, httpx2.Client]
    operations: list[Operation]


@pytest.fixture(scope="module", params=KINDS)
def neighbours(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neighbours]:
    with at_home_on(request, tmp_path_factory) as home, ExitStack() as clients:
        red = _clients(home, "red", clients)
        yield Neighbours(home, _settled(home), red, operations(home.api))


def _clients(home: Home, project: str, clients: ExitStack) -> Mapping[Role, httpx2.Client]:
    found = {
        role: clients.enter_context(home.server.client(_key(home, role, project)["key"])) for role in Role
    }
    for client in found.values():
        client.headers["Accept"] = "application/json"  # what accepts anything is sent events for ever
    return found


def _key(home: Home, role: Role, project: str) -> dict[str, str]:
    answer = home.api.post("/api/keys", json={"name": f"{project} {role}", "role": role, "project": project})
    assert answer.status_code == 201, answer.text
    found: dict[str, str] = answer.json()
    return found


def _settled(home: Home) -> Mapping[str, str]:
    """Let blue have one of everything, and return what it is known by."""
    instance_id = home.running(project="blue", name=f"{WORD}-1", labels={"word": WORD}, envs={"WORD": WORD})
    home.running(project="blue", name=a_name())
    hook = {"url": f"http://127.0.0.1:9/{WORD}", "project": "blue"}
    endpoint = home.api.post("/api/webhooks", json=hook).json()["id"]
    delivery = home.api.post(f"/api/webhooks/{endpoint}/test").json()["id"]
    jobs = until(
        lambda: home.api.get("/api/jobs", params={"instanceId": instance_id}).json(),
        lambda found: bool(found["jobs"]),
    )
    return {
        "instance_id": instance_id,
        "name": f"{WORD}-1",
        "novita_id": str(home.looked(instance_id)["novitaInstanceId"]),
        "operation_id": str(home.listed(instance_id, "operations")[0]["id"]),
        "endpoint_id": str(endpoint),
        "delivery_id": str(delivery),
        "job_id": str(part(jobs, "jobs", 0, "id")),
        "key_id": _key(home, Role.VIEWER, "blue")["id"],
    }


def never(known: str) -> str:
    """Return an id like this one that nothing has."""
    return "987654321" if known.isdecimal() else known[0] + "".join(reversed(known[1:]))


def told(client: httpx2.Client, operation: Operation, values: Mapping[str, str]) -> tuple[int, str]:
    """Return what an operation answers, without what was asked and what no two answers share."""
    body = BODIES.get(str(operation), {}) if operation.has_body else None
    answer = client.request(operation.method, operation.at(values), json=body)
    error = answer.json()["error"]
    text = json.dumps({name: error[name] for name in error if name not in {"timestamp", "requestId"}})
    for value in values.values():
        text = text.replace(value, "…")
    return answer.status_code, text


@pytest.mark.parametrize("role", Role)
def test_what_is_anothers_is_answered_as_what_never_was(neighbours: Neighbours, role: Role) -> None:
    before = _state(neighbours)
    never_was = {name: never(value) for name, value in neighbours.blue.items()}
    tried = 0
    for operation in neighbours.operations:
        own = {each.name for each in operation.parameters if each.place == "path"} - SHARED
        if not own or operation.path.startswith("/api/cache/"):
            continue
        assert own <= set(neighbours.blue), f"{operation}: let blue have one of these"
        of_blue = told(neighbours.red[role], operation, neighbours.blue)
        assert of_blue == told(neighbours.red[role], operation, never_was), operation
        assert of_blue[0] in {403, 404}, operation
        tried += of_blue[0] == 404
    assert tried > (8 if role is Role.VIEWER else 18)
    assert _state(neighbours) == before


def _state(neighbours: Neighbours) -> tuple[object, ...]:
    """Return what is blue's as it is now."""
    home, blue = neighbours.home, neighbours.blue
    details = home.looked(blue["instance_id"])
    return (
        [details[name] for name in ("name", "status", "labels", "lastUsedAt")],
        [each["id"] for each in home.listed(blue["instance_id"], "operations")],
        home.api.get("/api/webhooks").json(),
        [each["id"] for each in home.api.get("/api/keys").json()["keys"]],
    )


def test_nothing_that_can_be_read_without_an_id_tells_of_another(neighbours: Neighbours) -> None:
    """Lists, streams of pages, counts: with every filter that would name the other.

    The audit log shows a project what its own keys tried, so these keys are of a project that never asked.
    """
    blue = neighbours.blue
    words = [WORD, *(each for each in blue.values() if not each[-1].isdecimal() or len(each) > 5)]
    filters: list[dict[str, str]] = [
        {},
        *({name: blue["instance_id"]} for name in ("instanceId", "id")),
        {"name": blue["name"]},
        {"project": "blue"},
        {"label": f"word={WORD}"},
        {"endpointId": blue["endpoint_id"]},
        {"after": "0", "limit": "500"},
        {"source": "all"},
        {"syncLocalState": "true"},
    ]
    with ExitStack() as clients:
        green = _clients(neighbours.home, "green", clients)
        for operation in neighbours.operations:
            if operation.method != "GET" or "{" in operation.path:
                continue
            named = {each.name for each in operation.parameters}
            for asked in filters:
                params = {name: value for name, value in asked.items() if name in named}
                for client in green.values():
                    text = _unasked(client.get(operation.path, params=params).text, params)
                    assert [word for word in words if word in text] == [], (operation, params)


def _unasked(text: str, params: Mapping[str, str]) -> str:
    for value in params.values():
        text = text.replace(value, "")
    return text


def test_a_name_and_an_idempotency_key_of_another_are_free(neighbours: Neighbours) -> None:
    home, red = neighbours.home, neighbours.red[Role.OPERATOR]
    body = home.body(project="blue")
    key = {"Idempotency-Key": a_name()}
    theirs = home.api.post("/api/instances", json=body, headers=key).json()["instanceId"]
    del body["project"]
    own = red.post("/api/instances", json=body, headers=key)
    assert own.status_code == 201, own.text
    own_id = own.json()["instanceId"]
    assert own_id != theirs
    assert red.get(f"/api/instances/by-name/{body['name']}").json()["id"] == own_id
    assert (
        red.post("/api/instances/delete", json={"instanceName": body["name"]}).json()["instanceId"] == own_id
    )
    assert home.looked(theirs)["status"] != "terminating"


def test_a_receiver_of_one_project_hears_nothing_of_another(neighbours: Neighbours) -> None:
    home, red = neighbours.home, neighbours.red[Role.OPERATOR]
    made = red.post("/api/webhooks", json={"url": "http://127.0.0.1:9/red"}).json()
    assert made["project"] == "red"
    blue_id = home.running(project="blue", name=a_name())
    own_id = red.post("/api/instances", json=home.body()).json()["instanceId"]
    found = until(
        lambda: red.get("/api/webhooks/deliveries", params={"endpointId": made["id"]}).json(),
        lambda page: any(each["instanceId"] == own_id for each in parts(page, "deliveries")),
    )
    assert blue_id not in {each["instanceId"] for each in parts(found, "deliveries")}
