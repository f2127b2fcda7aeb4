"""The pages in a real browser: they work, fit, speak to the keyboard, and need nothing from other hosts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect, sync_playwright

from tests.support.needs import path_of
from tests.support.server import ADMIN_KEY, OstlerProcess, running_ostler

pytestmark = pytest.mark.needs("chromium")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OstlerProcess]:
    with running_ostler(tmp_path_factory.mktemp("ostler")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path_of("chromium"), args=list(FLAGS))


@pytest.fixture
def visit(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


def signed_in(visit: BrowserContext, server: OstlerProcess) -> tuple[Page, list[str]]:
    """Return a page of somebody who has signed in with the key, and the list of what goes wrong in it."""
    page = visit.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: None if _was_left(request) else wrong.append(request.url))
    page.on(
        "request", lambda request: None if request.url.startswith(server.url) else wrong.append(request.url)
    )
    page.goto(f"{server.url}/login")
    page.get_by_label("Key").fill(ADMIN_KEY)
    page.get_by_role("button", name="Sign in").click()
    return page, wrong


def _was_left(request: Request) -> bool:
    """Whether a request ended because its page was left for another."""
    return request.failure == "net::ERR_ABORTED"


def test_the_page_shows_health_prices_and_templates(visit: BrowserContext, server: OstlerProcess) -> None:
    page, wrong = signed_in(visit, server)
    expect(page.get_by_role("status")).to_have_text("healthy")
    expect(page.get_by_text("simulated", exact=True)).to_be_visible()
    expect(page.locator("#offer-rows tr").first).to_contain_text("$")
    expect(page.locator("#template-cards article").first).to_be_visible()
    assert wrong == []


def test_the_filter_narrows_the_offers(visit: BrowserContext, server: OstlerProcess) -> None:
    page, _ = signed_in(visit, server)
    page.get_by_label("GPU").fill("l40s")
    expect(page.locator("#offer-rows tr").filter(has_not_text="L40S")).to_have_count(0)
    page.get_by_label("GPU").fill("no such card")
    expect(page.locator("#offer-rows")).to_contain_text("Nothing is sold")


def test_an_answer_to_an_earlier_filter_comes_too_late(visit: BrowserContext, server: OstlerProcess) -> None:
    page, _ = signed_in(visit, server)
    expect(page.locator("#offer-rows tr").first).to_contain_text("$")
    held: list[Route] = []
    page.route("**/api/offers?*productName=l40s*", lambda route: held.append(route))  # noqa: PLW0108 -- a method of a list cannot be wrapped
    page.get_by_label("GPU").fill("l40s")
    expect(page.locator("#offer-rows")).to_have_attribute("aria-busy", "true")
    page.get_by_label("GPU").fill("a100")
    others = page.locator("#offer-rows tr").filter(has_not_text="A100")
    expect(others).to_have_count(0)
    with page.expect_response("**/api/offers?*productName=l40s*") as late:
        held[0].continue_()
    late.value.finished()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(others).to_have_count(0)


def test_offers_that_cannot_be_read_leave_none_of_an_earlier_filter(
    visit: BrowserContext, server: OstlerProcess
) -> None:
    page, _ = signed_in(visit, server)
    expect(page.locator("#offer-rows tr").first).to_contain_text("$")
    refusal = {"error": {"code": "NOVITA_API_ERROR", "message": "The cloud is away."}}
    held: list[Route] = []
    page.route("**/api/offers?*gpuNum=8*", lambda route: held.append(route))  # noqa: PLW0108 -- as above
    page.get_by_label("Cards").select_option("8")
    expect(page.locator("#offers-count")).to_have_text("reading…")
    held[0].fulfill(status=503, json=refusal)
    expect(page.locator("#offer-rows")).to_have_text("These offers could not be read: The cloud is away.")
    expect(page.locator("#offers-count")).to_have_text("not known")
    page.get_by_label("Cards").select_option("1")
    expect(page.locator("#offer-rows tr").first).to_contain_text("$")


@pytest.mark.parametrize("path", ["/", "/login"])
def test_nothing_sticks_out_on_any_screen(visit: BrowserContext, server: OstlerProcess, path: str) -> None:
    page, _ = signed_in(visit, server)
    page.goto(server.url + path)
    if path == "/":
        expect(page.locator("#offer-rows tr").first).to_contain_text("$")
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width


def test_on_a_phone_the_price_is_seen_without_scrolling(visit: BrowserContext, server: OstlerProcess) -> None:
    page, _ = signed_in(visit, server)
    expect(page.locator("#offer-rows tr").first).to_contain_text("$")
    for width in (320, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.querySelector('.scroll').scrollWidth") <= width, width
        expect(page.locator("#offer-rows .product").first).to_be_visible()
        expect(page.locator("#offer-rows .best")).to_be_visible()


def test_the_api_document_can_be_read_without_another_host(
    visit: BrowserContext, server: OstlerProcess
) -> None:
    page, wrong = signed_in(visit, server)
    page.goto(f"{server.url}/docs")
    expect(page.get_by_text("Where a product can be had, cheapest first")).to_be_visible()
    assert wrong == []


@pytest.mark.parametrize(("scheme", "is_dark"), [("dark", True), ("light", False)])
def test_the_api_document_can_be_read_in_dark_and_in_light(
    browser: Browser, server: OstlerProcess, scheme: Literal["dark", "light"], *, is_dark: bool
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page, _ = signed_in(context, server)
    page.goto(f"{server.url}/docs")
    text = page.get_by_text("Where a product can be had, cheapest first")
    color = str(text.evaluate("(element) => getComputedStyle(element).color"))
    red, green, blue = (float(each) for each in re.findall(r"[\d.]+", color)[:3])
    assert (red + green + blue > 3 * 128) is is_dark
    context.close()


def test_a_wrong_key_is_told_and_signing_out_closes_the_door(
    visit: BrowserContext, server: OstlerProcess
) -> None:
    page, _ = signed_in(visit, server)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Key")).to_be_visible()
    page.goto(server.url)
    page.get_by_label("Key").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("This key is not valid.")


def test_when_ostler_stops_the_page_says_so(visit: BrowserContext, tmp_path: Path) -> None:
    with running_ostler(tmp_path) as short_lived:
        page, _ = signed_in(visit, short_lived)
        expect(page.get_by_role("status")).to_have_text("healthy")
        short_lived.stop()
        expect(page.get_by_role("status")).to_have_text("unreachable", timeout=20_000)
        expect(page.locator("#trouble")).to_be_visible()
        expect(page.locator("#dependencies .is-unknown")).to_have_count(5)
        expect(page.locator("#dependencies")).to_contain_text("not known now; was: answers")
