"""The API from outside: the catalogue, the caches, health, and how it answers what is wrong."""

import re
from collections.abc import Iterator

import httpx2
import pytest

from tests.support.server import OstlerProcess, running_ostler


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OstlerProcess]:
    with running_ostler(tmp_path_factory.mktemp("ostler"), OSTLER_RATE_LIMIT_PER_MINUTE="0") as running:
        yield running


@pytest.fixture
def client(server: OstlerProcess) -> Iterator[httpx2.Client]:
    with server.client() as opened:
        yield opened


def test_offers_come_cheapest_first_and_add_up(client: httpx2.Client) -> None:
    body = client.get("/api/offers", params={"productName": "4090", "gpuNum": 4, "available": True}).json()
    prices = [offer["pricePerHour"] for offer in body["offers"]]
    assert prices
    assert prices == sorted(prices)
    for offer in body["offers"]:
        assert "4090" in offer["productName"]
        assert offer["pricePerHour"] == pytest.approx(4 * offer["pricePerGpuHour"])
    assert body["stale"] is False


def test_offers_are_listed_by_what_was_asked_for_and_else_by_what_can_be_had(client: httpx2.Client) -> None:
    for word, field in (("price", "pricePerHour"), ("name", "productName"), ("region", "region")):
        offers = client.get("/api/offers", params={"sort": word}).json()["offers"]
        values = [offer[field] for offer in offers]
        assert values == sorted(values)
        assert {True, False} == {offer["available"] for offer in offers}
    available = [offer["available"] for offer in client.get("/api/offers").json()["offers"]]
    assert available == sorted(available, reverse=True)


def test_spot_is_cheaper_than_on_demand(client: httpx2.Client) -> None:
    cheapest = {
        mode: client.get("/api/offers", params={"productName": "4090", "billingMode": mode}).json()["offers"][
            0
        ]
        for mode in ("spot", "onDemand")
    }
    assert cheapest["spot"]["pricePerHour"] < cheapest["onDemand"]["pricePerHour"]


@pytest.mark.parametrize("word", ["US-CA-06", "us-ca-6", "US-CA-06 (California)"])
def test_a_region_is_known_by_code_id_and_name(client: httpx2.Client, word: str) -> None:
    body = client.get("/api/offers", params={"region": word}).json()
    assert {offer["region"] for offer in body["offers"]} == {"US-CA-06"}


def test_a_product_is_listed_once_with_all_its_offers(client: httpx2.Client) -> None:
    products = client.get("/api/products").json()["products"]
    ids = [product["id"] for product in products]
    assert len(ids) == len(set(ids))
    for product in products:
        assert sorted(product["regions"]) == sorted(offer["region"] for offer in product["offers"])


def test_a_template_is_shown_without_the_values_of_its_environment(client: httpx2.Client) -> None:
    templates = client.get("/api/templates").json()["templates"]
    assert templates
    for template in templates:
        one = client.get(f"/api/templates/{template['id']}").json()
        assert one.items() >= template.items()
        assert "envs" not in one


def test_what_does_not_exist_is_told_by_its_code(client: httpx2.Client) -> None:
    answer = client.get("/api/templates/987654")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "TEMPLATE_NOT_FOUND")
    answer = client.get("/api/nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_every_wrong_field_is_told_at_once(client: httpx2.Client) -> None:
    answer = client.get("/api/offers", params={"gpuNum": "9", "billingMode": "barter", "produktName": "x"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert {(each["field"], each["code"], each["value"]) for each in error["validationErrors"]} == {
        ("gpuNum", "INVALID_GPU_NUM", "9"),
        ("billingMode", "INVALID_BILLING_MODE", "barter"),
        ("produktName", "UNKNOWN_FIELD", "x"),
    }


@pytest.mark.parametrize("path", ["/api/regions", "/api/templates/101"])
def test_a_query_is_refused_where_there_is_none(client: httpx2.Client, path: str) -> None:
    wrong = client.get(path, params={"verbose": "1"}).json()["error"]["validationErrors"]
    assert [(each["field"], each["code"]) for each in wrong] == [("verbose", "UNKNOWN_FIELD")]
    assert client.get("/health", params={"verbose": "1"}).status_code == 200


def test_a_wrong_part_of_the_path_is_told_in_the_words_of_the_api(client: httpx2.Client) -> None:
    wrong = client.get(f"/api/templates/{'9' * 256}").json()["error"]["validationErrors"]
    assert [(each["field"], each["code"]) for each in wrong] == [("templateId", "INVALID_TEMPLATE_ID")]


def test_what_is_wrong_with_a_key_that_is_wished_for_is_said_in_words(client: httpx2.Client) -> None:
    def wrong(**body: object) -> dict[str, object]:
        (told,) = client.post("/api/keys", json=body).json()["error"]["validationErrors"]
        assert isinstance(told, dict)
        return told

    missing = {"field": "name", "code": "MISSING_FIELD", "message": "is required", "value": None}
    assert wrong() == missing
    assert str(wrong(name=" x")["message"]).startswith("must be 1 to 63 letters, digits, spaces,")
    assert str(wrong(name="x", project="-")["message"]).startswith("must be 1 to 63 letters, digits, `.`")
    for at in ("tomorrow", "2001-01-01T00:00:00Z"):
        assert wrong(name="x", expiresAt=at)["code"] == "INVALID_EXPIRES_AT"


def test_an_unknown_region_is_told_with_those_that_are_known(client: httpx2.Client) -> None:
    answer = client.get("/api/offers", params={"region": "MARS-01"})
    assert answer.status_code == 400
    assert answer.json()["error"]["validationErrors"][0]["code"] == "INVALID_REGION"
    assert "US-CA-06" in answer.json()["error"]["message"]


def test_a_wrong_method_is_told_with_every_right_one(client: httpx2.Client) -> None:
    answer = client.put("/api/cache/products")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE")
    answer = client.put("/login", headers={"content-type": "application/json"})
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_a_head_is_answered_as_its_get_without_a_body(client: httpx2.Client) -> None:
    paths = [path for path in client.get("/openapi.json").json()["paths"] if "{" not in path]
    client.headers["Accept"] = "application/json, */*"  # without it, events would be a stream
    gettable = [path for path in paths if client.get(path).status_code != 405]
    for path in (
        *gettable,
        "/",
        "/docs",
        "/login",
        "/openapi.json",
        "/static/status.js",
        "/api/templates/102",
    ):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (got.status_code, b""), path
        assert head.headers["content-type"] == got.headers["content-type"], path
        assert "content-length" in head.headers, path
    assert client.head("/nothing").status_code == 404
    assert client.head("/logout").status_code == 405
    assert "head" not in client.get("/openapi.json").json()["paths"]["/health"]


def test_a_head_waits_for_nothing_and_redeems_nothing(server: OstlerProcess, client: httpx2.Client) -> None:
    for path in (
        "/api/events?waitFor=changed",
        "/api/events",
        "/api/instances/comprehensive?syncLocalState=true",
    ):
        for accepted in ("*/*", "text/event-stream"):
            assert client.head(path, headers={"accept": accepted}).status_code == 200
    assert client.head("/login?token=made-up").status_code == 200
    with server.client(key=None) as stranger:
        assert stranger.head("/health").status_code == 200
        assert stranger.head("/api/instances").status_code == 401


def test_a_path_with_a_slash_too_many_leads_nowhere_else(client: httpx2.Client) -> None:
    answer = client.get("/api/instances/", headers={"host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_bodies_must_be_json_and_of_reasonable_size(client: httpx2.Client) -> None:
    def code(**request: object) -> tuple[int, str]:
        answer = client.post("/api/cache/clear", **request)  # type: ignore[arg-type]  # what a request may carry
        return answer.status_code, answer.json()["error"]["code"]

    assert code(content=b"x", headers={"content-type": "text/plain"}) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert code(content=b"{", headers={"content-type": "application/json"}) == (400, "VALIDATION_ERROR")
    assert code(content=b"\xff\xfe", headers={"content-type": "application/json"}) == (
        400,
        "VALIDATION_ERROR",
    )
    assert code(json={"cacheName": "x" * 2_000_000}) == (413, "PAYLOAD_TOO_LARGE")
    chunks = (b" " * 65_536 for _ in range(20))
    assert code(content=chunks, headers={"content-type": "application/json"}) == (413, "PAYLOAD_TOO_LARGE")


def test_the_second_reader_is_answered_from_memory(client: httpx2.Client) -> None:
    client.delete("/api/cache")
    client.get("/api/offers", params={"region": "US-CA-06"})
    before = client.get("/api/cache/products/stats").json()
    client.get("/api/offers", params={"region": "US-CA-06"})
    after = client.get("/api/cache/products/stats").json()
    assert (after["hits"], after["misses"]) == (before["hits"] + 1, before["misses"])


def test_one_cache_or_one_value_of_it_can_be_forgotten(client: httpx2.Client) -> None:
    client.get("/api/offers", params={"region": "US-CA-06"})
    first, second = (client.delete("/api/cache/products/us-ca-6:spot:1").json() for _ in range(2))
    assert (first["removed"], first["message"]) == (1, "Forgot us-ca-6:spot:1 of products.")
    assert (second["removed"], second["message"]) == (0, "There is no us-ca-6:spot:1 in products.")
    assert client.delete("/api/cache/products/").status_code == 404
    assert client.get("/api/cache/regions/stats").json()["size"] == 1
    assert client.post("/api/cache/clear", json={"cacheName": "regions"}).json()["removed"] == 1
    for wrong in ("attic", ""):
        answer = client.post("/api/cache/clear", json={"cacheName": wrong})
        assert answer.status_code == 404
        assert f"no cache {wrong!r};" in answer.json()["error"]["message"]
    assert client.post("/api/cache/cleanup").status_code == 200


def test_ids_are_taken_returned_and_made_when_they_are_missing_or_mad(client: httpx2.Client) -> None:
    sent = client.get("/health", headers={"x-request-id": "mine-1", "x-correlation-id": "corr-1"})
    assert (sent.headers["x-request-id"], sent.headers["x-correlation-id"]) == ("mine-1", "corr-1")
    mad = client.get("/api/nothing", headers={"x-request-id": 'a"b{}<>'})
    assert mad.headers["x-request-id"].startswith("req_")
    assert mad.json()["error"]["requestId"] == mad.headers["x-request-id"]


def test_every_route_of_the_document_but_health_is_closed_to_strangers(
    server: OstlerProcess, client: httpx2.Client
) -> None:
    document = client.get("/openapi.json").json()
    with server.client(key=None) as stranger, server.client(key="wrong") as impostor:
        for path, methods in document["paths"].items():
            for method in methods:
                expected = 200 if path.startswith("/health") else 401
                for who in (stranger, impostor):
                    answer = who.request(method.upper(), re.sub(r"\{\w+\}", "1", path))
                    assert answer.status_code == expected, (method, path)
        for path in ("/", "/docs", "/openapi.json", "/nothing"):
            assert stranger.get(path).status_code == 401, path


def test_the_document_tells_of_our_envelope_and_of_the_key(client: httpx2.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    operation = document["paths"]["/api/offers"]["get"]
    assert "422" not in operation["responses"]
    assert operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"].endswith(
        "ProblemAnswer"
    )
    assert operation["security"] == [{"key": []}, {"session": []}]
    assert "security" not in document["paths"]["/health"]["get"]


def test_metrics_count_requests_and_calls_to_the_cloud(client: httpx2.Client) -> None:
    client.get("/api/regions")
    text = client.get("/metrics").text
    assert (
        'ostler_http_request_duration_seconds_count{method="GET",route="/api/regions",status="200"}' in text
    )
    assert 'ostler_cloud_breaker_state{kind="read",state="closed"} 1.0' in text
    assert "ostler_cloud_call_duration_seconds_bucket" in text
    assert 'ostler_cache_lookups_total{cache="products",result="hit"}' in text
