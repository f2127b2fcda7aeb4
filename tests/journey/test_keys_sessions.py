"""Signing in with a browser: with any key, for as long as that key is good, and never for somebody else."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie

import httpx2
import pytest

from ostler.api.sessions import COOKIE
from ostler.domain.roles import Role
from tests.support.home import code_of, details_in
from tests.support.server import ADMIN_KEY, OstlerProcess, running_ostler


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OstlerProcess]:
    with running_ostler(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def a_key(server: OstlerProcess, role: Role, project: str | None = None) -> dict[str, object]:
    with server.client() as admin:
        made = admin.post("/api/keys", json={"name": f"Ann {role}", "role": role, "project": project})
        assert made.status_code == 201, made.text
        return details_in(made)


@contextmanager
def a_browser(server: OstlerProcess, key: object = None) -> Iterator[httpx2.Client]:
    """Give a browser that is signed in with a key, or is not."""
    with server.client(key=None) as client:
        client.headers["Origin"] = server.url
        if key is not None:
            assert client.post("/login", data={"key": str(key)}).status_code == 303
        yield client


def token_of(browser: httpx2.Client) -> str:
    return browser.cookies[COOKIE]


@pytest.mark.parametrize("role", Role)
def test_every_role_signs_in_and_the_page_says_who_is_there(server: OstlerProcess, role: Role) -> None:
    with a_browser(server, a_key(server, role, "blue")["key"]) as browser:
        page = browser.get("/")
        assert page.status_code == 200
        assert f"Ann {role}" in page.text
        assert f"({role}, blue)" in page.text
        assert browser.get("/api/instances").status_code == 200
        assert browser.get("/api/orphans").status_code == 403


def test_the_cookie_is_for_the_server_alone(server: OstlerProcess) -> None:
    with a_browser(server) as browser:
        answer = browser.post("/login", data={"key": ADMIN_KEY})
        cookie = SimpleCookie(answer.headers["set-cookie"])[COOKIE]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
        assert not cookie["secure"], "there is no TLS here"


def test_a_session_that_was_planted_is_not_the_one_that_is_opened(server: OstlerProcess) -> None:
    with a_browser(server, a_key(server, Role.VIEWER)["key"]) as attacker, a_browser(server) as victim:
        planted = token_of(attacker)
        victim.cookies.set(COOKIE, planted, "127.0.0.1", "/")
        victim.post("/login", data={"key": ADMIN_KEY})
        assert token_of(victim) != planted
        assert attacker.get("/api/instances").status_code == 401, "the planted one has ended"


def test_signing_out_ends_every_copy_of_the_session_and_no_other(server: OstlerProcess) -> None:
    key = a_key(server, Role.OPERATOR)["key"]
    with a_browser(server, key) as one, a_browser(server, key) as other, a_browser(server) as thief:
        thief.cookies.set(COOKIE, token_of(one), "127.0.0.1", "/")
        assert thief.get("/api/instances").status_code == 200
        assert one.post("/logout").status_code == 303
        assert COOKIE not in one.cookies
        assert thief.get("/api/instances").status_code == 401
        assert other.get("/api/instances").status_code == 200


def test_a_session_ends_with_the_revocation_of_its_key(server: OstlerProcess) -> None:
    key = a_key(server, Role.ADMIN)
    with a_browser(server, key["key"]) as browser, server.client() as admin:
        assert browser.get("/api/keys").status_code == 200
        admin.delete(f"/api/keys/{key['id']}").raise_for_status()
        assert browser.get("/api/keys").status_code == 401
        assert browser.get("/").status_code == 401
        assert browser.post("/login", data={"key": str(key["key"])}).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_other_site_changes_anything_signs_in_or_signs_out(
    server: OstlerProcess, headers: dict[str, str]
) -> None:
    with a_browser(server, ADMIN_KEY) as browser:
        for path, body in (("/api/instances/stop-all", {"confirm": True}), ("/api/keys", {"name": "x"})):
            assert code_of(browser.post(path, json=body, headers=headers)) == (403, "FORBIDDEN")
        assert code_of(browser.post("/logout", headers=headers)) == (403, "FORBIDDEN")
        assert browser.post("/login", data={"key": ADMIN_KEY}, headers=headers).status_code == 403
        assert browser.get("/api/instances").status_code == 200


def test_who_is_no_browser_signs_in_with_a_key_and_changes_nothing_by_the_session(
    server: OstlerProcess,
) -> None:
    with server.client(key=None) as program:
        assert program.post("/login", data={"key": ADMIN_KEY}).status_code == 303
        assert program.get("/api/instances").status_code == 200
        assert code_of(program.post("/api/keys", json={"name": "x"})) == (403, "FORBIDDEN")


def test_guessing_keys_leads_nowhere(server: OstlerProcess) -> None:
    with a_browser(server) as browser:
        for guess in ("", " ", "admin", "ostler_", f"{ADMIN_KEY}x", ADMIN_KEY[:-1], "\x00", "\u043a" * 100):
            answer = browser.post("/login", data={"key": guess})
            assert answer.status_code == 401
            assert COOKIE not in answer.cookies
