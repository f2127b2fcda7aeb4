"""Other sites, others at the same browser, who plants a cookie: what a session is worth to them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie

import httpx2
import pytest

from ostler.api.sessions import COOKIE
from tests.support.document import operations
from tests.support.home import Home, at_home, code_of
from tests.support.server import ADMIN_KEY

FOREIGN = {
    "another site": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "a sandbox": {"Origin": "null"},
    "nowhere": {},
    "no URL": {"Origin": "http://["},
    "a site like ours": {"Origin": "http://127.0.0.1.evil.example"},
    "the browser's word": {"Sec-Fetch-Site": "cross-site"},
    "a neighbour": {"Sec-Fetch-Site": "same-site"},
}
# other programs at this host, and the session cookie among them
COMPANY = (
    *('{}; a={{"x":1}}', 'a={{"x":1,"y":[2]}}; {}', 'a="never closed; {}', "a; {}", "=a; {}", "; ;{};"),
    *("no name=a; {}", "a,b=c; {}", "ostler_session_2=a; {}", "OSTLER_SESSION=a; {}", "é=ü; {}", "{};"),
    *("ostler_session=planted; {}", 'ostler_session="; {}', "ostler_session; {}", "_xsrf=2|a|b; {}"),
)
ENDLESS = (
    *(f'{COOKIE}="' + "\\" * 60_000 + '"', f'{COOKIE}="' + "\\1" * 30_000 + '"', f"{COOKIE}=" + "a" * 60_000),
    *("a=b;" * 15_000, '"\\"' * 20_000, f"{COOKIE}=;" * 3_500, "=" * 60_000, ";" * 60_000),
)
PLAIN = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


@pytest.fixture
def browser(home: Home) -> Iterator[httpx2.Client]:
    with home.server.client(key=None) as client:
        sign_in(client)
        yield client


def sign_in(client: httpx2.Client, **headers: str) -> httpx2.Response:
    own = str(client.base_url).rstrip("/")
    return client.post("/login", data={"key": ADMIN_KEY}, headers={"Origin": own} | headers)


def given(answer: httpx2.Response) -> str:
    """Return the session that an answer gives."""
    return SimpleCookie(answer.headers["set-cookie"])[COOKIE].value


@pytest.mark.parametrize("where", FOREIGN)
def test_no_page_of_another_site_changes_anything_through_a_session(
    home: Home, browser: httpx2.Client, where: str
) -> None:
    """Every change of the document, and signing out; nothing of it has happened afterwards."""
    instance_id = home.created()
    changes = [each for each in operations(home.api) if each.method != "GET"]
    assert len(changes) > 20
    for operation in changes:
        path = operation.at({"instance_id": instance_id})
        for kind in ("application/json", *PLAIN):
            headers = FOREIGN[where] | {"Content-Type": kind}
            answer = browser.request(operation.method, path, headers=headers, content=b"{}")
            assert code_of(answer) == (403, "FORBIDDEN"), operation
    assert browser.post("/logout", headers=FOREIGN[where]).status_code == 403
    assert browser.get("/api/instances").status_code == 200
    assert home.looked(instance_id)["status"] not in {"terminating", "terminated", "stopping"}


def test_a_session_that_was_planted_is_not_the_one_that_is_given(home: Home) -> None:
    for planted in ("planted", "a" * 64, "../../x", '"', "a,b;c"):
        with home.server.client(key=None) as client:
            cookie = {"Cookie": f"{COOKIE}={planted}"}
            answer = sign_in(client, **cookie)
            assert given(answer) != planted
            assert client.get("/api/jobs", headers=cookie).status_code == 401


@pytest.mark.parametrize("company", COMPANY)
def test_no_cookie_of_another_program_signs_anybody_out(
    home: Home, browser: httpx2.Client, company: str
) -> None:
    own = f"{COOKIE}={browser.cookies[COOKIE]}"
    with home.server.client(key=None) as client:
        cookies = company.format(own).encode()
        assert client.get("/api/jobs", headers=[(b"Cookie", cookies)]).status_code == 200


@pytest.mark.parametrize("cookie", ENDLESS, ids=[each[:24] for each in ENDLESS])
def test_no_cookie_keeps_everybody_waiting(home: Home, cookie: str) -> None:
    """Many at once: a second of work for each of them would be more than anybody waits for."""
    with home.server.client(key=None) as client, ThreadPoolExecutor(40) as crowd:
        ask = lambda _: client.get("/api/jobs", headers={"Cookie": cookie}).status_code  # noqa: E731 -- for `map`
        assert set(crowd.map(ask, range(40))) == {401}


def test_each_sign_in_is_a_session_of_its_own_that_cannot_be_guessed(home: Home) -> None:
    with home.server.client(key=None) as client:
        sessions = {given(sign_in(client)) for _ in range(5)}
    assert len(sessions) == 5
    assert {len(each) for each in sessions} == {64}


def test_other_sites_may_read_and_frame_nothing(browser: httpx2.Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "DELETE"}
    for path in ("/", "/docs", "/openapi.json", "/api/instances", "/health", "/metrics", "/nowhere"):
        for answer in (browser.get(path, headers=asked), browser.options(path, headers=asked)):
            assert [name for name in answer.headers if name.startswith("access-control-")] == []
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
    for page in ("/", "/docs", "/login"):
        policy = browser.get(page).headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    "host", ["evil.example", "[", "evil.example:80@127.0.0.1", "<script>alert(1)</script>"]
)
def test_a_made_up_host_leads_nobody_elsewhere(browser: httpx2.Client, host: str) -> None:
    signed_in = sign_in(browser, Host=host, Origin=f"http://{host}")
    assert signed_in.headers.get("location", "/") == "/"
    page = browser.get("/", headers={"Host": host})
    assert "<script>alert" not in page.text


def test_a_login_link_leads_to_our_own_page_only(home: Home) -> None:
    with home.server.client(key=None) as client:
        token = httpx2.URL(home.server.login_url).params["token"]
        answer = client.get("/login", params={"token": token, "next": "https://evil.example", "to": "//evil"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert client.get("/login", params={"token": token}).status_code == 401


HOSTS = (
    *("rebound.evil.example", "evil.example:3000", "127.0.0.1.evil.example", "localhost.evil.example", "["),
    *("127.0.0.1@evil.example", "evil.example@127.0.0.1:x", "evil.example@127.0.0.1", "2130706433", "0x7f.1"),
    *("127.0.0.2", "0.0.0.0:80", "127.0.0.1/x", "localhost.", "[::", ""),
)


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a server that asks for no key."""
    with (
        at_home(tmp_path_factory.mktemp("keyless"), OSTLER_AUTH="off") as open_home,
        open_home.server.client(key=None) as client,
    ):
        assert client.get("/api/instances").status_code == 200
        yield client


@pytest.mark.parametrize("host", HOSTS)
def test_without_keys_a_name_that_was_led_here_is_answered_nothing(keyless: httpx2.Client, host: str) -> None:
    for method, path in (("GET", "/api/instances"), ("GET", "/"), ("POST", "/api/instances/stop-all")):
        answer = keyless.request(method, path, headers={"Host": host})
        assert code_of(answer) == (403, "FORBIDDEN")


@pytest.mark.parametrize("where", [each for each in FOREIGN if FOREIGN[each]])
def test_without_keys_no_page_of_another_site_asks_or_changes_anything(
    keyless: httpx2.Client, where: str
) -> None:
    for operation in operations(keyless):
        if not operation.path.startswith("/health"):
            answer = keyless.request(operation.method, operation.at({}), headers=FOREIGN[where])
            assert code_of(answer) == (403, "FORBIDDEN"), operation


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_a_request_is_what_its_method_says(home: Home, header: str) -> None:
    instance_id = home.created()
    home.api.get(f"/api/instances/{instance_id}", headers={header: "DELETE"}).raise_for_status()
    assert home.api.get(f"/api/instances/{instance_id}", params={"_method": "DELETE"}).status_code == 400
    assert [each["kind"] for each in home.listed(instance_id, "operations")] == ["create"]


@pytest.mark.parametrize("ending", ["revoked", "signed out"])
def test_whoever_follows_or_waits_by_a_session_is_let_go_when_it_ends(home: Home, ending: str) -> None:
    key = home.api.post("/api/keys", json={"name": "a guest"}).json()
    path = f"/api/instances/{home.created()}?waitFor=terminated&timeoutSeconds=100"
    with home.server.client(key=None) as client, ThreadPoolExecutor() as others:
        own = {"Origin": home.server.url}
        assert client.post("/login", data={"key": key["key"]}, headers=own).status_code == 303
        with client.stream("GET", "/api/events", headers={"Accept": "text/event-stream"}) as stream:
            waiting = others.submit(client.get, path)
            if ending == "revoked":
                home.api.delete(f"/api/keys/{key['id']}").raise_for_status()
            else:
                assert client.post("/logout", headers=own).status_code == 303
            stream.read()  # to its end
        # it may come too late to begin, with the same end
        assert code_of(waiting.result()) == (401, "AUTHENTICATION_ERROR")
