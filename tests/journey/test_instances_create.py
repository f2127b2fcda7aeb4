"""Creating over HTTP: what is refused and with which words, plans, prices, stock, and asking twice."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.support.home import Details, Home, a_name, at_home, code_of, details_in, part, parts, until

H200 = {"productName": "H200 SXM 141GB", "billingMode": "onDemand"}  # sold in US-CA-06 alone
H200_SHELF = {"productId": "H200-141GB.24c256g", "clusterId": "us-ca-6", "mode": "onDemand"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


@pytest.fixture
def sold_out(home: Home) -> Iterator[None]:
    """The H200 is sold out everywhere."""
    home.control("/stock", **H200_SHELF, free=0)
    home.api.post("/api/cache/clear")
    yield
    home.control("/stock", **H200_SHELF, free=8)
    home.api.post("/api/cache/clear")


def refused(home: Home, **changes: object) -> httpx2.Response:
    return home.api.post("/api/instances", json=home.body(**changes))


def test_every_wrong_field_is_told_at_once_with_its_own_code(home: Home) -> None:
    answer = home.api.post(
        "/api/instances",
        json={
            "name": "not a name",
            "productName": "",
            "templateId": -1,
            "gpuNum": 9,
            "rootfsSize": 5,
            "region": 7,
            "webhookUrl": "ftp://example.test",
            "billingMode": "barter",
            "months": 3,
            "maxPricePerHour": 0,
            "ttlSeconds": 1,
            "onFailure": "weep",
            "onReclaim": 1,
            "healthCheck": {"targetPort": 0, "paths": "/"},
            "startupTimeoutSeconds": True,
            "envs": {"A": 1},
            "project": "-",
            "labels": [],
            "dryRun": "yes",
            "gpunum": 1,
        },
    )
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    error = part(details_in(answer), "error")
    assert {"code", "message", "details", "timestamp", "requestId", "validationErrors"} <= set(
        parts_of(error)
    )
    wrong = {each["field"]: each["code"] for each in parts(error, "validationErrors")}
    assert wrong == {
        "name": "INVALID_INSTANCE_NAME",
        "productName": "INVALID_PRODUCT_NAME",
        "templateId": "INVALID_TEMPLATE_ID",
        "gpuNum": "INVALID_GPU_NUM",
        "rootfsSize": "INVALID_ROOTFS_SIZE",
        "region": "INVALID_REGION",
        "webhookUrl": "INVALID_WEBHOOK_URL",
        "billingMode": "INVALID_BILLING_MODE",
        "months": "INVALID_MONTHS",
        "maxPricePerHour": "INVALID_PRICE_CAP",
        "ttlSeconds": "INVALID_LIMIT",
        "onFailure": "INVALID_POLICY",
        "onReclaim": "INVALID_POLICY",
        "healthCheck.targetPort": "INVALID_HEALTH_CHECK",
        "healthCheck.paths": "UNKNOWN_FIELD",
        "startupTimeoutSeconds": "INVALID_TIMEOUT",
        "envs": "INVALID_ENVS",
        "project": "INVALID_PROJECT",
        "labels": "INVALID_LABELS",
        "dryRun": "INVALID_FLAG",
        "gpunum": "UNKNOWN_FIELD",
    }
    for each in parts(error, "validationErrors"):
        assert each["message"]
        assert "value" in each


def parts_of(whole: object) -> Details:
    assert isinstance(whole, dict)
    return whole


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"productName": "RTX 9090"}, (404, "PRODUCT_NOT_FOUND")),
        ({"templateId": "987654"}, (404, "TEMPLATE_NOT_FOUND")),
        ({"region": "MARS-01"}, (400, "VALIDATION_ERROR")),
        ({"regions": ["US-CA-06", "MARS-01"]}, (400, "VALIDATION_ERROR")),
        ({"maxPricePerHour": 0.00001}, (404, "NO_OPTIMAL_PRODUCT_ANY_REGION")),
        ({"billingMode": "monthly"}, (400, "VALIDATION_ERROR")),
    ],
)
def test_what_does_not_exist_is_refused_now_and_nothing_is_stored(
    home: Home, changes: dict[str, object], refusal: tuple[int, str]
) -> None:
    name = a_name()
    assert code_of(refused(home, name=name, **changes)) == refusal
    assert home.api.get("/api/instances", params={"name": name}).json()["total"] == 0


def test_a_prepaid_term_is_told_before_and_counts_from_the_moment_it_is_placed(home: Home) -> None:
    term = {"billingMode": "monthly", "months": 1, "confirmPrepaid": True, "onFailure": "keep"}
    plan = home.api.post("/api/instances", json=home.body(**term, dryRun=True)).json()
    price = parts(plan, "candidates")[0]["prepaidPrice"]
    instance_id = home.running(**term)
    upstream = home.looked(instance_id)["novitaInstanceId"]
    paid = {each["id"]: each["cost"] for each in home.cloud.get("/_sim/ledger").json()["instances"]}
    assert home.looked(instance_id)["costSoFar"] == price == paid[upstream] / 100_000
    cost = details_in(home.api.get(f"/api/instances/{instance_id}/cost"))
    assert (cost["costSoFar"], cost["costPerHour"]) == (price, 0)
    assert {each["state"]: each["cost"] for each in parts(cost, "intervals")}["prepaid"] == price


def test_what_is_missing_is_said_to_be_required(home: Home) -> None:
    nothing = home.api.post("/api/instances", json={}).json()["error"]["validationErrors"]
    assert {each["field"] for each in nothing} == {"name", "productName", "templateId"}
    assert all(str(each["message"]).startswith("is required") for each in nothing)
    [confirm] = home.api.post("/api/instances/stop-all", json={}).json()["error"]["validationErrors"]
    assert (confirm["field"], confirm["message"], confirm.get("value")) == ("confirm", "is required", None)


def test_an_unknown_region_is_told_by_its_place_with_those_that_are_known(home: Home) -> None:
    wrong = refused(home, region="MARS-01", regions=["US-CA-06", "PLUTO"]).json()["error"]["validationErrors"]
    assert [(each["field"], each["code"]) for each in wrong] == [
        ("region", "INVALID_REGION"),
        ("regions[1]", "INVALID_REGION"),
    ]
    assert "US-CA-06" in wrong[0]["message"]


def test_an_unknown_region_is_told_beside_every_other_wrong_field_and_each_field_once(home: Home) -> None:
    changes = {"name": "", "region": "MARS-01", "billingMode": "barter", "months": 0, "confirmPrepaid": []}
    wrong = parts(details_in(refused(home, **changes)), "error", "validationErrors")
    assert sorted((str(each["field"]), str(each["code"])) for each in wrong) == [
        ("billingMode", "INVALID_BILLING_MODE"),
        ("confirmPrepaid", "INVALID_FLAG"),
        ("months", "INVALID_MONTHS"),
        ("name", "INVALID_INSTANCE_NAME"),
        ("region", "INVALID_REGION"),
    ]


@pytest.mark.usefixtures("sold_out")
def test_no_offer_is_told_with_every_region_and_why(home: Home) -> None:
    answer = refused(home, **H200, region="US-CA-06")
    assert code_of(answer) == (404, "NO_OPTIMAL_PRODUCT_ANY_REGION")
    tried = {each["region"]: each["reason"] for each in parts(answer.json(), "error", "details", "regions")}
    known = {each["code"] for each in home.api.get("/api/regions").json()["regions"]}
    assert set(tried) == known
    assert "sold" in str(tried["US-CA-06"])
    assert "retryUntilAvailable" in answer.json()["error"]["hint"]


@pytest.mark.usefixtures("sold_out")
def test_who_waits_for_stock_may_stop_waiting_and_delete_what_never_was(home: Home) -> None:
    accepted = home.api.post("/api/instances", json=home.body(**H200, retryUntilAvailable=True)).json()
    assert accepted["estimatedReadyTime"] is None
    instance_id = accepted["instanceId"]
    stopped = home.asked(instance_id, "stop")
    assert home.ended(stopped["operationId"])["outcome"] == "succeeded"
    found = home.looked(instance_id)
    assert (found["status"], part(found, "error", "code")) == ("failed", "CREATE_CALLED_OFF")
    deleted = home.asked(instance_id, "delete")
    assert "was deleted" in str(deleted["message"])
    assert "terminated already" in str(home.asked(instance_id, "delete")["message"])


@pytest.mark.usefixtures("sold_out")
def test_who_waits_for_stock_gets_it_when_it_comes(home: Home) -> None:
    instance_id = home.created(**H200, region="US-CA-06", retryUntilAvailable=True)
    waiting = until(lambda: home.looked(instance_id), lambda found: found["phase"] == "waiting_for_stock")
    assert (waiting["status"], waiting["novitaInstanceId"]) == ("creating", None)
    home.control("/stock", **H200_SHELF, free=8)
    home.api.post("/api/cache/clear")
    assert home.looked(instance_id)["phase"] == "waiting_for_stock"
    jobs = home.api.get("/api/jobs", params={"instanceId": instance_id, "type": "create_instance"})
    [job] = parts(jobs.json(), "jobs")
    home.api.post(f"/api/jobs/{job['id']}/retry")  # else it looks again by itself, after half a minute
    assert home.waited(instance_id, "ready")["region"] == "US-CA-06"


def test_a_dry_run_plans_and_makes_nothing(home: Home) -> None:
    name = a_name()
    answer = refused(home, name=name, productName="4090", region="US-CA-06", dryRun=True)
    plan = details_in(answer)
    assert answer.status_code == 200
    assert (plan["dryRun"], plan["rootfsSize"]) == (True, 60)
    candidates = parts(plan, "candidates")
    assert candidates[0]["region"] == "US-CA-06"
    assert {"region", "productId", "productName", "pricePerHour"} <= set(candidates[0])
    for each in parts(plan, "leftOut"):
        assert each["reason"]
    assert home.api.get("/api/instances", params={"name": name}).json()["total"] == 0


def test_a_price_cap_leaves_out_what_is_dearer(home: Home) -> None:
    capped = {"productName": "4090", "regions": "any", "dryRun": True, "maxPricePerHour": 0.18}
    plan = details_in(refused(home, **capped))
    prices = [each["pricePerHour"] for each in parts(plan, "candidates")]
    assert prices
    assert all(isinstance(price, float) and price <= 0.18 for price in prices)
    assert prices == sorted(prices, key=lambda price: float(str(price)))
    dearer = {each["pricePerHour"] for each in parts(plan, "leftOut")}
    assert 0.195 in dearer


def test_a_refused_offer_is_followed_by_the_next_region(home: Home) -> None:
    query = {"status": "creating"}
    until(lambda: details_in(home.api.get("/api/instances", params=query)), lambda found: found["total"] == 0)
    home.control("/faults", fault="noCapacity", route="POST *create", times=1)  # it is for nobody else
    instance_id = home.running(regions=["CN-HK-01", "US-CA-06"], region="CN-HK-01")
    attempts = home.listed(instance_id, "attempts")
    assert [(each["number"], each["region"], each["outcome"]) for each in attempts] == [
        (1, "CN-HK-01", "no_capacity"),
        (2, "US-CA-06", "placed"),
    ]
    for each in attempts:
        assert {"productId", "pricePerHour", "billingMode", "durationMs", "beganAt"} <= set(each)
    assert home.looked(instance_id)["region"] == "US-CA-06"


def test_the_same_key_and_body_are_the_same_create_and_another_body_is_refused(home: Home) -> None:
    name, key = a_name(), {"Idempotency-Key": a_name()}
    first = home.api.post("/api/instances", json=home.body(name=name), headers=key)
    again = home.api.post("/api/instances", json=home.body(name=name), headers=key)
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert first.headers["location"] == again.headers["location"]
    assert home.api.get("/api/instances", params={"name": name}).json()["total"] == 1
    other = home.api.post("/api/instances", json=home.body(name=a_name()), headers=key)
    assert code_of(other) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_a_refusal_leaves_its_key_free(home: Home) -> None:
    key = {"Idempotency-Key": a_name()}
    wrong = home.api.post("/api/instances", json=home.body(productName="RTX 9090"), headers=key)
    assert code_of(wrong) == (404, "PRODUCT_NOT_FOUND")
    assert home.api.post("/api/instances", json=home.body(), headers=key).status_code == 201


def test_a_key_whose_first_request_is_not_answered_yet_is_in_progress(home: Home) -> None:
    key, body = {"Idempotency-Key": a_name()}, home.body()
    home.api.post("/api/cache/clear")
    home.control("/faults", fault="latency", seconds=1.5, route="GET *", times=4)
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda _: home.api.post("/api/instances", json=body, headers=key), range(8)))
    home.cloud.delete("/_sim/faults")
    assert {answer.status_code for answer in answers} <= {201, 409}
    made = {answer.json()["instanceId"] for answer in answers if answer.status_code == 201}
    early = [answer for answer in answers if answer.status_code == 409]
    assert (len(made), {code_of(each) for each in early}) == (1, {(409, "IDEMPOTENCY_KEY_IN_PROGRESS")})
    assert {each.headers["Retry-After"] for each in early} == {"1"}
    assert home.api.post("/api/instances", json=body, headers=key).json()["instanceId"] in made


def test_creates_without_a_key_are_as_many_instances_as_requests(home: Home) -> None:
    name = a_name()
    with ThreadPoolExecutor() as pool:
        ids = set(pool.map(lambda _: home.created(name=name), range(6)))
    assert len(ids) == 6
    upstreams = {home.waited(instance_id, "running")["novitaInstanceId"] for instance_id in ids}
    assert len(upstreams) == 6
    ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
    billed = {each["id"] for each in ledger if str(each["name"]).startswith(name)}
    assert billed == upstreams
