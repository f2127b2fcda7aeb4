"""The doors: who is let in by which token, and that everything else is turned away."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from ostler.api.caller import ADMIN, Caller
from ostler.api.doors import Admission, TurnedAway
from ostler.api.sessions import COOKIE, LINK_LIFE, LoginLinks
from ostler.domain.keys import Grant
from ostler.domain.roles import Role
from ostler.usecases.key_book import ADMINISTRATOR
from ostler.usecases.signing_in import SESSION_LIFE
from tests.support.cloud import EPOCH, HandClock
from tests.support.gates import KEY, Porch, a_porch


class OpenClock(HandClock):
    """A clock on which waiting takes no time."""

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def outcome(found: Admission | TurnedAway) -> int:
    return 200 if isinstance(found, Admission) else found.problem.status


async def asked(porch: Porch, method: str = "GET", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return outcome(await porch.gate.admit(method, Headers({"host": "127.0.0.1:3000"} | named)))


async def a_session(porch: Porch) -> str:
    return f"{COOKIE}={await porch.sessions.open(ADMINISTRATOR, '')}"


async def test_the_bearer_of_the_administrators_key_is_let_in() -> None:
    found = await a_porch(OpenClock()).gate.admit("POST", Headers({"authorization": f"Bearer {KEY}"}))
    assert isinstance(found, Admission)
    assert found.caller == ADMIN


async def test_the_holder_of_a_made_key_is_let_in_under_its_name_role_and_project() -> None:
    porch = a_porch(OpenClock())
    made = await porch.keys.make("ci", Grant(Role.OPERATOR, "blue"), ADMINISTRATOR)
    key = made.key.get_secret_value()
    found = await porch.gate.admit("POST", Headers({"authorization": f"bearer {key}"}))
    assert isinstance(found, Admission)
    assert found.caller == Caller(made.row.holder.key_id, "ci", Role.OPERATOR, "blue")


@given(key=st.text(st.characters(codec="latin-1"), max_size=60).filter(lambda key: key.strip() != KEY))
async def test_no_other_key_is(key: str) -> None:
    assert await asked(a_porch(OpenClock()), authorization=f"Bearer {key}") == 401


@pytest.mark.parametrize("value", ["", f"Basic {KEY}", KEY, "Bearer", "bearer "])
async def test_what_is_no_bearer_key_is_turned_away(value: str) -> None:
    assert await asked(a_porch(OpenClock()), authorization=value) == 401


@pytest.mark.parametrize("value", ["Bearer", "Bearer ", "bearer \t"])
async def test_no_key_is_no_key_even_where_the_administrators_is_none(value: str) -> None:
    porch = a_porch(OpenClock(), admin_key="")
    assert await asked(porch, authorization=value) == 401
    assert await porch.gate.holder_of(value.removeprefix("Bearer")) is None


async def test_a_session_is_good_until_its_end() -> None:
    clock = OpenClock()
    porch = a_porch(clock)
    cookie = await a_session(porch)
    assert await asked(porch, cookie=cookie) == 200
    clock.seconds += SESSION_LIFE.total_seconds() - 10
    assert await asked(porch, cookie=cookie) == 200
    clock.seconds += 20
    assert await asked(porch, cookie=cookie) == 401


@given(token=st.text(alphabet="0123456789abcdef.-_", max_size=120))
async def test_no_made_up_cookie_opens_a_session(token: str) -> None:
    porch = a_porch(OpenClock())
    await a_session(porch)
    assert await asked(porch, cookie=f"{COOKIE}={token}") == 401


async def test_a_key_is_no_session_and_a_session_no_key() -> None:
    porch = a_porch(OpenClock())
    cookie = await a_session(porch)
    assert await asked(porch, authorization=f"Bearer {cookie.partition('=')[2]}") == 401
    assert await asked(porch, cookie=f"{COOKIE}={KEY}") == 401


async def test_no_session_outlives_a_change_of_the_administrators_key() -> None:
    clock = OpenClock()
    porch = a_porch(clock)
    cookie = await a_session(porch)
    changed = a_porch(clock, porch.storage, admin_key="another-key")
    assert await asked(changed, cookie=cookie) == 401


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:3000", 200),
        ("https://evil.example", 403),
        ("http://127.0.0.1:9999", 403),
        ("null", 403),
        ("http://[", 403),
        ("http://[::1]evil", 403),
        ("", 403),
    ],
)
async def test_a_change_by_session_must_begin_on_our_own_pages(origin: str, expected: int) -> None:
    porch = a_porch(OpenClock())
    assert await asked(porch, "POST", cookie=await a_session(porch), origin=origin) == expected


async def test_a_change_by_session_without_an_origin_is_refused_unless_the_browser_vouches() -> None:
    porch = a_porch(OpenClock())
    cookie = await a_session(porch)
    assert await asked(porch, "DELETE", cookie=cookie) == 403
    assert await asked(porch, "DELETE", cookie=cookie, sec_fetch_site="same-origin") == 200
    for site in ("cross-site", "same-site", "", "x"):
        assert await asked(porch, "DELETE", cookie=cookie, sec_fetch_site=site) == 403


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://gpu.example.com", 200),
        ("https://gpu.example.com:443", 200),
        ("http://gpu.example.com", 403),  # somebody on the way, who could not read https
        ("https://gpu.example.com:8443", 403),
        ("http://127.0.0.1:3000", 403),
        ("https://gpu.example.com:port", 403),
    ],
)
async def test_behind_a_proxy_the_public_address_alone_is_our_own(origin: str, expected: int) -> None:
    porch = a_porch(OpenClock(), public_url="https://gpu.example.com/")
    assert await asked(porch, "POST", cookie=await a_session(porch), origin=origin) == expected


@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("127.0.0.1:3000", None, 200),
        ("localhost:3000", "http://localhost:3000", 200),
        ("[::1]:3000", None, 200),
        ("rebound.evil.example:3000", None, 403),
        ("[", None, 403),
        ("[::1", None, 403),
        ("127.0.0.1@evil.example", None, 403),
        ("127.0.0.1:3000", "http://[", 403),
        ("127.0.0.1:3000", "https://evil.example", 403),
    ],
)
async def test_without_keys_only_this_machine_is_spoken_to(
    host: str, origin: str | None, expected: int
) -> None:
    porch = a_porch(OpenClock(), asks_for_key=False)
    headers = {"host": host} | ({"origin": origin} if origin else {})
    assert await asked(porch, "POST", **headers) == expected


def test_a_login_link_works_once_and_not_for_ever() -> None:
    clock = HandClock()
    links = LoginLinks(clock)
    used, old = links.issue(), links.issue()
    assert links.redeem(used)
    assert not links.redeem(used)
    clock.seconds += (LINK_LIFE + timedelta(seconds=1)).total_seconds()
    assert not links.redeem(old)
    assert not links.redeem("made up")


async def test_a_key_ends_with_its_time() -> None:
    clock = OpenClock()
    porch = a_porch(clock)
    end = EPOCH + timedelta(seconds=clock.seconds + 60)
    made = await porch.keys.make("short", Grant(Role.VIEWER, None, end), ADMINISTRATOR)
    bearer = f"Bearer {made.key.get_secret_value()}"
    assert await asked(porch, authorization=bearer) == 200
    clock.seconds += 61
    assert await asked(porch, authorization=bearer) == 401
