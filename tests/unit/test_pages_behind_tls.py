"""The pages behind a proxy with TLS: the session's cookie never travels in the open."""

from http.cookies import SimpleCookie
from pathlib import Path

import httpx2

from ostler.api.app import Layers, application
from ostler.api.sessions import COOKIE, LoginLinks
from ostler.clock import SystemClock
from ostler.dashboard.pages import Entrance, PageFacts, Pages
from ostler.telemetry.metrics import Metrics
from tests.support.gates import KEY, a_porch

PUBLIC = "https://gpu.example.com"


async def test_the_cookie_travels_by_tls_alone_and_is_given_on_the_public_page_alone() -> None:
    clock = SystemClock()
    porch = a_porch(clock, public_url=PUBLIC)
    facts = PageFacts(is_simulated=False, key_file=Path("x"), is_behind_tls=True, asks_for_key=True)
    pages = Pages(facts, Entrance(porch.gate, porch.sessions, LoginLinks(clock)))
    app = application([pages.router()], Layers(porch.gate, porch.journal, clock, Metrics("test")))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC) as browser:
        form = {"key": KEY}
        given = await browser.post("/login", data=form, headers={"Origin": PUBLIC})
        refused = await browser.post("/login", data=form, headers={"Origin": "http://gpu.example.com"})
    cookie = SimpleCookie(given.headers["set-cookie"])[COOKIE]
    assert (given.status_code, cookie["secure"], cookie["httponly"]) == (303, True, True)
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    porch.storage.close()
