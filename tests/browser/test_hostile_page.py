"""Names that are markup, as the cloud gives them: the pages show them as text, and nothing of them runs."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect, sync_playwright

from tests.browser.test_status_page import FLAGS
from tests.support.home import CLOUD_API, Home, at_home
from tests.support.needs import path_of
from tests.support.server import ADMIN_KEY

pytestmark = pytest.mark.needs("chromium")

MARKUP = (
    '"><img class=planted src=x onerror="window.planted=1"><script class=planted>window.planted=1</script>'
    "<a class=planted href=javascript:window.planted=1>x</a>{{7*7}}<!--"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


@pytest.fixture(scope="module")
def page(home: Home) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path_of("chromium"), args=list(FLAGS))
        page = browser.new_page()
        page.goto(f"{home.server.url}/login")
        page.get_by_label("Key").fill(ADMIN_KEY)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("status")).to_have_text("healthy")
        yield page


def nothing_of_it_runs(page: Page) -> bool:
    """Tell whether no element was made of the markup, and none of its scripts ran."""
    return page.locator(".planted").count() == 0 and page.evaluate("window.planted === undefined") is True


def test_a_template_called_by_markup_is_shown_by_that_name(home: Home, page: Page) -> None:
    template = {
        "name": MARKUP,
        "type": "instance",
        "channel": "private",
        "image": f"img/{MARKUP}",
        "rootfsSize": 60,
    }
    home.cloud.post(f"{CLOUD_API}/template/create", json={"template": template})
    home.api.delete("/api/cache")
    assert any(MARKUP in str(each["name"]) for each in home.api.get("/api/templates").json()["templates"])
    page.goto(home.server.url)
    expect(page.locator("#template-cards h3").filter(has_text="window.planted")).to_have_text(MARKUP)
    assert nothing_of_it_runs(page)


def test_no_text_of_any_answer_becomes_part_of_the_page(home: Home, page: Page) -> None:
    """Every text that the page asks for comes with markup in it, whatever it means."""

    def spoil(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps(spoilt(answer.json())))

    for path in ("/health", "/api/**"):
        page.route(f"{home.server.url}{path}", spoil)
    page.goto(home.server.url)
    expect(page.locator("#offer-rows")).to_contain_text("window.planted")
    expect(page.locator("#template-cards")).to_contain_text("window.planted")
    expect(page.get_by_role("status")).to_contain_text("window.planted")
    assert nothing_of_it_runs(page)
    page.unroute_all(behavior="wait")


def spoilt(value: object) -> object:
    """Return an answer with markup in every text, but for instants."""
    match value:
        case dict():
            return {name: each if name.endswith("At") else spoilt(each) for name, each in value.items()}
        case list():
            return [spoilt(each) for each in value]
        case str():
            return MARKUP + value
        case _:
            return value


@pytest.mark.parametrize("query", ["token=", "token=x&next="])
def test_no_word_of_an_address_becomes_part_of_the_page(home: Home, page: Page, query: str) -> None:
    page.goto(f"{home.server.url}/login?{query}{MARKUP}")
    assert nothing_of_it_runs(page)
    page.goto(f"{home.server.url}/docs?url={MARKUP}#/{MARKUP}")
    assert nothing_of_it_runs(page)
