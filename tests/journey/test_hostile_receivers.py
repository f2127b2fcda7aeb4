"""Receivers that lead inside, given to a server that does not simulate: refused, each by its field."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.support.home import Home, a_name, at_home, code_of
from tests.support.hostile_addresses import HOSTILE_URLS, METADATA_URLS
from tests.support.server import running_ostler
from tests.support.simulator import spawned_simulator

NO_URLS = (
    *(
        "file:///etc/passwd",
        "unix:///run/docker.sock",
        "http+unix://%2Frun%2Fdocker.sock/x",
        "gopher://a.example",
    ),
    *(
        "javascript:alert(1)",
        "//hooks.example.com/",
        "http:hooks.example.com",
        "http://a.example:0/",
        "http://",
    ),
    *("http://a.example\r\nX-Injected: yes", "http://a.example/\r\nX-Injected: yes", "http://a.example/\x00"),
    *("http://a.example\t/", "http://a.exam\nple/", "http://a.example:80:80/", "http://a.example:99999/"),
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    settings = {"NOVITA_API_KEY": "sk_of-the-tests", "OSTLER_API_RATE_LIMIT": "off"}
    with (
        spawned_simulator(speed=60.0) as cloud,
        running_ostler(
            tmp_path_factory.mktemp("ostler"), "serve", NOVITA_API_BASE_URL=cloud.address, **settings
        ) as server,
        server.client() as client,
    ):
        yield client


@pytest.mark.parametrize("url", [*HOSTILE_URLS, *METADATA_URLS, *NO_URLS])
def test_no_request_can_name_a_receiver_that_leads_inside(api: httpx2.Client, url: str) -> None:
    create = {"name": a_name(), "productName": "RTX 4090 24GB", "templateId": "102", "webhookUrl": url}
    answers = [
        api.post("/api/instances", json=create),
        api.post("/api/instances/start", json={"instanceName": "nobody", "webhookUrl": url}),
        api.post("/api/instances/no-such-id/start", json={"webhookUrl": url}),
        api.post("/api/webhooks", json={"url": url}),
    ]
    for answer in answers:
        assert code_of(answer) == (400, "VALIDATION_ERROR"), url
        wrong = answer.json()["error"]["validationErrors"]
        assert [each["code"] for each in wrong] == ["INVALID_WEBHOOK_URL"]


def test_in_simulation_loopback_may_be_called_and_nothing_else_inside(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with at_home(tmp_path_factory.mktemp("ostler")) as home:
        assert _registered(home, "http://127.0.0.1:9/") == 201
        assert _registered(home, "http://localhost:9/") == 201
        for url in ("http://10.0.0.1/", "http://192.168.1.1/", "http://[fd00::1]/", *METADATA_URLS):
            assert _registered(home, url) == 400, url


def _registered(home: Home, url: str) -> int:
    return home.api.post("/api/webhooks", json={"url": url}).status_code
