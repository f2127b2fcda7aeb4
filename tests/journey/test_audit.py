"""The audit log, as administrators read it: who did what, from where, with which outcome; never a secret."""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest

from ostler.api.audited import AUDITED_READS, SAFE_METHODS
from ostler.api.permissions import PERMISSIONS
from tests.support.home import Details, Home, at_home, at_home_on, parts
from tests.support.server import OstlerProcess

DEEDS = [row for row in PERMISSIONS if row.partition(" ")[0] not in SAFE_METHODS or row in AUDITED_READS]
BODIES: Mapping[str, object] = {
    "POST /api/instances/{instance_id}/migrate": {"acceptDataLoss": True},
    "PATCH /api/instances/{instance_id}": {"labels": {"team": "blue"}},
    "POST /api/instances/stop-all": {"confirm": True, "project": "of-nobody"},
}


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]
)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home_on(request, tmp_path_factory, OSTLER_TRUSTED_PROXIES="127.0.0.1") as opened:
        yield opened


def lines(home: Home, **query: str | int) -> list[Details]:
    answer = home.api.get("/api/audit", params=query)
    assert answer.status_code == 200, answer.text
    return parts(answer.json(), "entries")


def lines_of(home: Home, answer: httpx2.Response) -> list[Details]:
    """Return the lines of one request."""
    request_id = answer.headers["x-request-id"]
    return [line for line in lines(home, limit=500) if line["requestId"] == request_id]


def the_line_of(home: Home, answer: httpx2.Response) -> Details:
    (line,) = lines_of(home, answer)
    return line


def a_key(home: Home, role: str, **more: str) -> Details:
    name = f"ann-{secrets.token_hex(4)}"
    made = home.api.post("/api/keys", json={"name": name, "role": role, **more})
    found: Details = made.raise_for_status().json()
    return found


def test_a_create_is_told_with_who_what_and_from_where(home: Home) -> None:
    key = a_key(home, "operator")
    with home.server.client(str(key["key"])) as client:
        headers = {"User-Agent": "curl/8.7 " + "x" * 500, "X-Forwarded-For": "198.51.100.1, 192.0.2.7"}
        answer = client.post("/api/instances", json=home.body(project="blue"), headers=headers)
    line = the_line_of(home, answer)
    assert str(line.pop("userAgent")).startswith("curl/8.7 xxx")
    assert line.pop("at")
    assert line.pop("id")
    assert line == {
        "action": "POST /api/instances",
        "outcome": "done",
        "status": 201,
        "code": None,
        "keyId": key["id"],
        "keyName": key["name"],
        "role": "operator",
        "means": "key",
        "address": "192.0.2.7",
        "targetKind": "instance",
        "targetId": answer.json()["instanceId"],
        "project": "blue",
        "fields": ["name", "productName", "templateId", "project"],
        "requestId": answer.headers["x-request-id"],
    }


@pytest.mark.parametrize("row", DEEDS)
def test_every_route_that_changes_something_leaves_a_line_of_whoever_asked(home: Home, row: str) -> None:
    """A new route is in the table of permissions, or nobody may use it: so it is tried here, too."""
    method, _, template = row.partition(" ")
    path = "/".join("nothing" if part.startswith("{") else part for part in template.split("/"))
    query = {"token": "made-up"} if row == "GET /login" else {}
    for client in (home.api, *_strangers(home)):
        with client if client is not home.api else home.server.client() as asking:
            answer = asking.request(method, path, params=query, json=BODIES.get(row, {}))
        line = the_line_of(home, answer)
        assert (line["action"], line["status"]) == (row, answer.status_code)
        assert line["outcome"] == ("done" if answer.is_success or answer.is_redirect else "refused")
        assert (line["code"] is None) == (line["outcome"] == "done" or "/login" in path)


def _strangers(home: Home) -> Iterator[httpx2.Client]:
    """Give those who are refused: who has a key that may too little, and who has none, each from afar."""
    yield home.server.client(str(a_key(home, "viewer", project="red")["key"]))
    stranger = home.server.client("ostler_made-up")
    stranger.headers["X-Forwarded-For"] = f"2001:db8:{secrets.randbelow(65536):x}::1"
    yield stranger


def test_verbs_name_their_instance_also_when_it_was_asked_for_by_name(home: Home) -> None:
    instance_id = home.exited()
    name = str(home.looked(instance_id)["name"])
    by_name = home.api.post("/api/instances/start", json={"instanceName": name})
    again = home.api.post(f"/api/instances/{instance_id}/restart")
    patched = home.api.patch(f"/api/instances/{instance_id}", json={"labels": {"a": "b"}})
    shown = home.api.get(f"/api/instances/{instance_id}/credentials")
    for answer in (by_name, again, patched, shown):
        line = the_line_of(home, answer)
        assert (line["targetKind"], line["targetId"]) == ("instance", instance_id)
        assert line["status"] == answer.status_code
    assert again.status_code == 409
    assert the_line_of(home, again)["code"] == again.json()["error"]["code"]
    assert the_line_of(home, patched)["fields"] == ["labels"]
    actions = [line["action"] for line in lines(home, instanceId=instance_id)]
    assert actions[0] == "GET /api/instances/{instance_id}/credentials"
    assert actions[-1] == "POST /api/instances"


def test_stopping_everything_leaves_a_line_for_each(home: Home) -> None:
    project = f"p{secrets.token_hex(4)}"
    made = {home.running(project=project) for _ in range(2)}
    answer = home.api.post("/api/instances/stop-all", json={"confirm": True, "project": project})
    assert {line["targetId"] for line in lines_of(home, answer)} == made


def test_a_repeated_create_is_told_as_often_as_it_was_asked(home: Home) -> None:
    body, headers = home.body(), {"Idempotency-Key": secrets.token_hex(8)}
    first, second = (home.api.post("/api/instances", json=body, headers=headers) for _ in range(2))
    assert first.json() == second.json()
    assert the_line_of(home, first)["targetId"] == first.json()["instanceId"]
    assert the_line_of(home, second)["outcome"] == "done"


def test_signing_in_and_out_names_the_key(home: Home) -> None:
    key = a_key(home, "operator")
    with home.server.client(None) as browser:
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        entered = browser.post("/login", data={"key": str(key["key"])})
        wrong = browser.post("/api/instances", json={})
        browser.headers["Sec-Fetch-Site"] = "cross-site"
        forged = browser.post("/api/instances", json={})
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        left = browser.post("/logout")
    told = [the_line_of(home, answer) for answer in (entered, wrong, forged, left)]
    assert [line["status"] for line in told] == [303, 400, 403, 303]
    assert [line["means"] for line in told] == ["key", "session", "session", "session"]
    assert {line["keyId"] for line in told} == {key["id"]}


def test_an_administrator_of_a_project_sees_what_is_of_it(home: Home) -> None:
    project = f"p{secrets.token_hex(4)}"
    instance_id = home.created(project=project)
    other_id = home.created(project="elsewhere")
    key = a_key(home, "admin", project=project)
    with home.server.client(str(key["key"])) as client:
        assert client.delete(f"/api/instances/{other_id}").status_code == 404
        seen = client.get("/api/audit").json()["entries"]
        assert client.get("/api/audit", params={"project": "elsewhere"}).status_code == 403
    assert [(line["action"].partition(" ")[0], line["targetId"]) for line in seen] == [
        ("DELETE", other_id),
        ("POST", key["id"]),
        ("POST", instance_id),
    ]


def test_pages_show_every_line_once(home: Home) -> None:
    key = a_key(home, "admin")
    with home.server.client(str(key["key"])) as client:
        for _ in range(5):
            client.post("/api/cache/cleanup")
    seen: list[object] = []
    cursor: Mapping[str, str] = {}
    while cursor is not None:
        query = {"key": str(key["name"]), "limit": "2", **cursor}
        page = home.api.get("/api/audit", params=query).raise_for_status().json()
        seen += [line["id"] for line in page["entries"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)  # type: ignore[type-var]  # numbers
    for wrong in (
        {"limit": 501},
        {"cursor": "x"},
        {"outcome": "x"},
        {"since": "x"},
        {"until": "0.5"},
        {"unknown": "x"},
    ):
        assert home.api.get("/api/audit", params=wrong).status_code == 400


def test_who_only_knocks_does_not_fill_the_log(tmp_path: Path) -> None:
    with at_home(tmp_path) as home:
        with home.server.client("ostler_made-up") as impostor:
            for _ in range(100):
                assert impostor.get("/api/instances").status_code == 401
        refused = lines(home, outcome="refused", limit=500)
        assert len(refused) == 60
        assert {(line["action"], line["keyId"], line["means"]) for line in refused} == {
            ("GET /api/instances", None, "none")
        }
        assert 'ostler_audit_entries_total{outcome="thinned"} 40.0' in _metrics(home.server)


def test_no_secret_stands_in_the_log(tmp_path: Path) -> None:
    canary = "canary0in0the0audit0log"
    with at_home(tmp_path) as home:
        key = str(a_key(home, "admin")["key"])
        headers = {"User-Agent": f"me/{key}", "X-Request-Id": key}
        home.api.post("/api/instances", json=home.body(envs={"A": canary}), headers=headers)
        home.api.post("/api/instances", json={canary: canary, "password": canary})
        home.api.post(f"/api/instances/{key}/stop")
        home.api.post("/api/webhooks", json={"url": "http://127.0.0.1:9/", "secret": canary})
        home.api.get("/login", params={"token": canary})
        home.api.post("/login", data={"key": canary}, headers={"Sec-Fetch-Site": "same-origin"})
        with home.server.client(canary) as impostor:
            impostor.get(f"/api/keys/{canary}?key={canary}")
            impostor.post(f"/nowhere/{canary}")
        log = home.api.get("/api/audit").text
        assert log.count('"requestId"') == 9
        assert (canary in log, key in log) == (False, False)


def test_without_keys_the_log_tells_the_address(tmp_path: Path) -> None:
    with at_home(tmp_path, OSTLER_AUTH="off") as home:
        line = the_line_of(home, home.api.post("/api/cache/clear"))
        assert (line["means"], line["keyId"], line["address"]) == ("open", "anonymous", "127.0.0.1")


def _metrics(server: OstlerProcess) -> str:
    with server.client() as client:
        return client.get("/metrics").text
