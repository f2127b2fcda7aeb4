"""Limits of each key, as clients meet them: what is left, one too many, and when to come back."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.home import at_home, code_of
from tests.support.server import OstlerProcess, running_ostler

LIMIT = 20
_PAUSE = threading.Event()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OstlerProcess]:
    settings = {"RATE_LIMIT_MAX_REQUESTS": str(LIMIT), "RATE_LIMIT_WINDOW_MS": "3600000"}
    with running_ostler(tmp_path_factory.mktemp("ostler"), **settings) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: OstlerProcess) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


def a_key(admin: httpx2.Client, name: str) -> str:
    made = admin.post("/api/keys", json={"name": name, "role": "admin"})
    return str(made.raise_for_status().json()["key"])


def left_in(answer: httpx2.Response) -> int:
    assert answer.headers["ratelimit-limit"] == str(LIMIT)
    assert 0 < int(answer.headers["ratelimit-reset"]) <= 3600
    return int(answer.headers["ratelimit-remaining"])


def test_a_key_is_told_what_is_left_and_refused_when_nothing_is(
    server: OstlerProcess, admin: httpx2.Client
) -> None:
    with server.client(a_key(admin, "eager")) as eager:
        # whatever is answered counts: a page, a refusal, a path that leads nowhere
        paths = ["/api/instances", "/api/instances/nothing", "/nowhere", "/metrics"] * (LIMIT // 4)
        assert [left_in(eager.get(path)) for path in paths] == [*reversed(range(LIMIT))]
        refused = eager.get("/api/instances")
        assert left_in(refused) == 0
        assert code_of(refused) == (429, "RATE_LIMIT_EXCEEDED")
        wait_s = int(refused.headers["retry-after"])
        details = {"limit": LIMIT, "windowMs": 3_600_000, "retryAfterSeconds": wait_s}
        assert refused.json()["error"]["details"] == details
        assert 0 < wait_s <= 3600
        assert eager.post("/api/instances", json={}).status_code == 429
        assert eager.get("/health").status_code == 200
        assert "ratelimit-limit" not in eager.get("/health").headers
    with server.client(a_key(admin, "calm")) as calm:
        assert left_in(calm.get("/api/instances")) == LIMIT - 1
        counted = calm.get("/metrics").text
        assert 'ostler_http_requests_rate_limited_total{by="key"} 2.0' in counted


def test_sessions_share_what_their_key_has(server: OstlerProcess, admin: httpx2.Client) -> None:
    key = a_key(admin, "of a browser")
    with server.client(key) as program, server.client(None) as browser:
        form = {"data": {"key": key}, "headers": {"Sec-Fetch-Site": "same-origin"}}
        assert browser.post("/login", **form).status_code == 303  # type: ignore[arg-type]  # of the form
        assert left_in(browser.get("/api/instances")) == LIMIT - 1
        assert left_in(program.get("/api/instances")) == LIMIT - 2


def test_who_tries_keys_is_told_to_wait_and_others_from_there_are_not(
    server: OstlerProcess, admin: httpx2.Client
) -> None:
    key = a_key(admin, "of a neighbour")
    with server.client("ostler_made-up") as impostor, server.client(None) as visitor:
        assert visitor.get("/api/instances").status_code == 401
        seen = [impostor.get("/api/instances").status_code for _ in range(LIMIT + 1)]
        assert seen == [401] * LIMIT + [429]
        form = {"data": {"key": "made up"}, "headers": {"Sec-Fetch-Site": "same-origin"}}
        page = visitor.post("/login", **form)  # type: ignore[arg-type]  # of the form
        assert page.status_code == 429
        assert 0 < int(page.headers["retry-after"]) <= 3600
        assert visitor.get("/api/instances").status_code == 401, "who shows nothing guesses nothing"
    with server.client(key) as neighbour:
        assert neighbour.get("/api/instances").status_code == 200


def test_after_the_wait_that_was_told_a_request_is_let_in(tmp_path: Path) -> None:
    settings = {"RATE_LIMIT_MAX_REQUESTS": "1", "RATE_LIMIT_WINDOW_MS": "1500"}
    with running_ostler(tmp_path, **settings) as server, server.client() as client:
        answer = client.get("/api/regions")
        while answer.status_code == 200:  # a busy machine may let a window pass
            answer = client.get("/api/regions")
        _PAUSE.wait(float(answer.headers["retry-after"]))
        assert client.get("/api/regions").status_code == 200


def test_without_keys_addresses_have_limits_as_a_trusted_proxy_tells_them(tmp_path: Path) -> None:
    settings = {
        "OSTLER_AUTH": "off",
        "RATE_LIMIT_MAX_REQUESTS": "2",
        "RATE_LIMIT_WINDOW_MS": "3600000",
        "OSTLER_TRUSTED_PROXIES": "127.0.0.1",
    }
    with running_ostler(tmp_path, **settings) as server, server.client(None) as client:

        def asked(address: str) -> int:
            return client.get("/api/regions", headers={"X-Forwarded-For": address}).status_code

        assert [asked("192.0.2.1") for _ in range(3)] == [200, 200, 429]
        assert asked("192.0.2.2") == 200


def test_limits_that_are_off_are_not_told_of(tmp_path: Path) -> None:
    with at_home(tmp_path, RATE_LIMIT_MAX_REQUESTS="1") as home:
        for _ in range(3):
            answer = home.api.get("/api/instances")
            assert answer.status_code == 200
            assert not [name for name in answer.headers if name.startswith("ratelimit")]
            assert "retry-after" not in answer.headers


def test_the_document_tells_of_limits_wherever_a_key_is_wanted(admin: httpx2.Client) -> None:
    paths = admin.get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for operation in methods.values():
            told = "429" in operation["responses"]
            assert told is not path.startswith("/health"), path
