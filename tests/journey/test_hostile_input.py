"""Input that means no good, in every field of every body, query, path and header of the document.

Whatever is sent, the answer is a success, or a refusal in our envelope that names the field and repeats
little; nothing is a server error, tells of our insides or takes long, and the server is as it was.
"""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.databases import KINDS
from tests.support.document import Operation, operations
from tests.support.home import at_home_on
from tests.support.hostile_site import JSON, NOTHING, Site, memory_of, names_field, trouble_with
from tests.support.hostile_words import FRAGMENTS, HEADERS, TEXTS

pytestmark = pytest.mark.timeout(240)

_PATIENCE_S = 10  # for one answer, on a busy machine; those that wait are told not to


@pytest.fixture(scope="module", params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with at_home_on(request, tmp_path_factory, OSTLER_WEBHOOK_ALLOW_PRIVATE="true") as home:
        home.api.timeout = httpx2.Timeout(_PATIENCE_S)
        instance_id = home.created()
        endpoint = home.api.post("/api/webhooks", json={"url": "http://127.0.0.1:9/"}).json()["id"]
        known = {"instance_id": instance_id, "endpoint_id": endpoint, "name": "products"}
        home.api.headers["Accept"] = "application/json"  # what accepts anything is sent events for ever
        yield Site(home, operations(home.api), known)
        assert home.api.get("/health").status_code == 200
        errors = [entry for entry in home.server.entries() if entry.get("level") == "error"]
        assert errors == []


def body_with(site: Site, path: str, fragment: bytes, operation: Operation) -> bytes:
    """Return a body of an operation, otherwise good, that has a fragment as one of its fields."""
    goods: Mapping[str, Mapping[str, object]] = {
        "/api/instances": site.home.body(dryRun=True),
        "/api/instances/start": {"instanceName": "nobody"},
        "/api/instances/stop": {"instanceName": "nobody"},
        "/api/instances/delete": {"instanceName": "nobody"},
        "/api/instances/stop-all": {"confirm": True, "project": "nobody"},
        "/api/webhooks": {"url": "http://127.0.0.1:9/"},
        "/api/keys": {"name": "good"},
    }
    good = goods.get(operation.path, {})
    outer, _, inner = path.partition(".")
    value = b'{"%s":%s}' % (inner.encode(), fragment) if inner else fragment
    rest = [
        b"%s:%s" % (json.dumps(key).encode(), json.dumps(kept).encode())
        for key, kept in good.items()
        if key != outer
    ]
    return b"{" + b",".join([*rest, b'"%s":%s' % (outer.encode(), value)]) + b"}"


def test_no_field_of_a_body_can_hold_anything_that_breaks(site: Site) -> None:
    for operation in site.operations:
        for path in operation.fields:
            for name, fragment in FRAGMENTS.items():
                body = body_with(site, path, fragment, operation)
                answer = site.ask(operation, f"{path} {name}", content=body, headers=JSON)
                assert answer is not None
                if answer.status_code == 400 and not names_field(answer, path):
                    site.wrong.append(f"{operation}, {path} {name}: {answer.text[:300]}")
    assert site.wrong == []


def test_a_text_of_any_kind_is_kept_as_it_came_or_refused(site: Site) -> None:
    for name, text in TEXTS.items():
        answer = site.home.api.post("/api/instances", json=site.home.body(labels={"a": text}))
        if answer.status_code == 400:
            assert names_field(answer, "labels")
        else:
            kept = site.home.looked(answer.json()["instanceId"])["labels"]
            assert kept == {"a": text}, name


def test_no_parameter_of_a_path_or_query_can_hold_anything_that_breaks(site: Site) -> None:
    for operation in site.operations:
        headers, content = (JSON, b"{}") if operation.has_body else (NOTHING, b"")
        for parameter in operation.parameters:
            for name, text in TEXTS.items():
                what = f"{parameter.name} {name}"
                if parameter.place == "path":
                    values = {parameter.name: quote(text, safe="") or "%20"}
                    site.ask(operation, what, values, content=content, headers=headers)
                elif parameter.place == "query":
                    params = {"timeoutSeconds": "0"} if _waits(operation) else {}
                    site.ask(operation, what, params=params | {parameter.name: text})
    assert site.wrong == []


def _waits(operation: Operation) -> bool:
    return any(each.name == "timeoutSeconds" for each in operation.parameters)


@pytest.mark.parametrize("times", [33, 2_000])
def test_no_parameter_can_be_said_so_often_that_it_breaks(site: Site, times: int) -> None:
    for operation in site.operations:
        for parameter in operation.parameters:
            if parameter.place == "query" and operation.method == "GET":
                pairs = "&".join(f"{parameter.name}=a{number}" for number in range(times))
                url = f"{operation.at(site.known)}?{pairs}"
                answer = site.home.api.get(url)
                trouble = trouble_with(answer)
                assert trouble is None, f"{operation}, {parameter.name}: {trouble}"


def test_no_header_can_hold_anything_that_breaks(site: Site) -> None:
    heard = {each.name for one in site.operations for each in one.parameters if each.place == "header"}
    usual = ("Accept", "Accept-Encoding", "Authorization", "Cookie", "Origin", "Range", "User-Agent")
    ours = ("Last-Event-ID", "X-Request-Id", "X-Correlation-Id", "traceparent", "X-Forwarded-For")
    operation = next(each for each in site.operations if str(each) == "POST /api/instances")
    for header in sorted({*heard, *usual, *ours, "Content-Type", "Content-Encoding", "If-None-Match"}):
        for name, value in HEADERS.items():
            headers = [(b"Content-Type", b"application/json"), (header.encode(), value)]
            content = json.dumps(site.home.body(dryRun=True)).encode()
            site.ask(operation, f"{header} {name}", headers=headers, content=content)
    assert site.wrong == []


@pytest.mark.parametrize(
    "kind",
    ["application/json; charset=utf-7", "application/json; charset=utf-16", "application/vnd.a+json"],
)
def test_a_charset_changes_nothing_of_how_a_body_is_read(site: Site, kind: str) -> None:
    body = json.dumps(site.home.body(dryRun=True, labels={"owner": "Žofie"}), ensure_ascii=False)
    answer = site.home.api.post("/api/instances", content=body.encode(), headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text
    for encoding in ("utf-16", "utf-32", "cp1250"):
        answer = site.home.api.post(
            "/api/instances", content=body.encode(encoding), headers={"Content-Type": kind}
        )
        assert trouble_with(answer) is None
        assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["", "text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_a_body_of_another_type_is_refused_by_its_type(site: Site, kind: str) -> None:
    for operation in site.operations:
        if operation.has_body:
            answer = site.ask(operation, kind, content=b"{}", headers={"Content-Type": kind})
            assert answer is not None
            assert answer.status_code == 415
    assert site.wrong == []


def test_of_a_field_that_is_said_twice_the_last_word_counts(site: Site) -> None:
    body = b'{"confirm":false,"confirm":true,"project":"nobody"}'
    assert site.home.api.post("/api/instances/stop-all", content=body, headers=JSON).status_code == 202
    body = b'{"confirm":true,"confirm":false,"project":"nobody"}'
    assert site.home.api.post("/api/instances/stop-all", content=body, headers=JSON).status_code == 400


def test_thousands_of_unknown_fields_are_refused_by_name_and_told_in_few_words(site: Site) -> None:
    body = json.dumps({f"field{number}": number for number in range(50_000)}).encode()
    for operation in site.operations:
        if operation.fields:
            answer = site.ask(operation, "many", content=body, headers=JSON)
            assert answer is not None
            assert answer.status_code == 400, operation
            wrong = answer.json()["error"]["validationErrors"]
            assert {each["code"] for each in wrong} >= {"UNKNOWN_FIELD"}
            assert len(wrong) <= 150
    assert site.wrong == []


def test_every_wrong_field_is_told_at_once_each_with_its_own_code(site: Site) -> None:
    """A receiver that may not be called is told beside the rest, though it is judged by the settings."""
    body = site.home.body(name="a b", gpuNum=9, webhookUrl="http://169.254.169.254/", labels=[], surprise=1)
    answer = site.home.api.post("/api/instances", json=body)
    told = {each["field"]: each["code"] for each in answer.json()["error"]["validationErrors"]}
    assert told == {
        "name": "INVALID_INSTANCE_NAME",
        "gpuNum": "INVALID_GPU_NUM",
        "webhookUrl": "INVALID_WEBHOOK_URL",
        "labels": "INVALID_LABELS",
        "surprise": "UNKNOWN_FIELD",
    }


PATHS = (
    "//api/instances",
    "/api//instances",
    "/api/./instances",
    "/api/x/../instances",
    "/api/instances/%2e%2e/jobs",
    "/api/instances/..%2fjobs",
    "/api/instances%2f..%2fjobs",
    "/api/instances;a=b",
    "/api/instances%3flimit=1",
    "/api/instances%23x",
    "/api/instances%00",
    "/API/INSTANCES",
    "/api/instances%20",
    "/api/\\instances",
    "/static/../../settings.py",
    "/static/%2e%2e/pages.py",
    "/static/..%5cpages.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/health/../api/instances",
    "/static/../api/instances",
    "/login/../api/instances",
    "/health%2f..%2fapi%2finstances",
    "/health/..;/api/instances",
    "/" + "x" * 9_000,
    "/" + "../" * 3_000,
)


@pytest.mark.parametrize("path", PATHS, ids=[path[:40] for path in PATHS])
def test_no_trick_of_a_path_leads_past_the_door_or_out_of_the_pages(site: Site, path: str) -> None:
    raw = httpx2.URL(site.home.server.url).copy_with(raw_path=path.encode())
    with site.home.server.client(key=None) as nobody:
        assert nobody.get(raw).status_code in {400, 401, 404}
    answer = site.home.api.get(raw)
    assert trouble_with(answer) is None
    assert b"BaseSettings" not in answer.content
    assert b"root:" not in answer.content


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150)
@given(data=st.data())
def test_no_body_of_any_shape_breaks_anything(site: Site, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from([each for each in site.operations if each.has_body]))
    names = st.sampled_from(operation.fields) if operation.fields else st.nothing()
    fields = data.draw(st.dictionaries(names | st.text(max_size=12), anything, max_size=6))
    body = json.dumps(fields).encode("utf-8", "surrogatepass")
    answer = site.home.api.request(operation.method, operation.at(site.known), content=body, headers=JSON)
    assert trouble_with(answer) is None


def test_no_limit_or_mark_however_far_ahead_keeps_the_watcher_from_its_work(site: Site) -> None:
    far = site.home.running(idleStopMinutes=43_200, maxCost=1_000_000, ttlSeconds=31_536_000)
    mark = {"lastUsedAt": "9999-12-31T23:59:59.999Z"}
    assert site.home.api.put(f"/api/instances/{far}/last-used", json=mark).is_success
    assert site.home.api.post("/api/instances/sync").is_success
    site.home.exited()  # seen by a watcher that has judged the other, too
    assert [each for each in site.home.server.entries() if each["level"] == "error"] == []


def test_all_of_it_costs_hardly_any_memory(site: Site) -> None:
    before = memory_of(site)
    operation = next(each for each in site.operations if str(each) == "POST /api/instances")
    for fragment in (FRAGMENTS["very long"], FRAGMENTS["a wide object"], FRAGMENTS["deep objects"]):
        for _ in range(40):
            body = body_with(site, "labels", fragment, operation)
            site.home.api.post("/api/instances", content=body, headers=JSON)
    assert memory_of(site) - before < 64 * 1_048_576
