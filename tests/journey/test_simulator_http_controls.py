"""Every control of the simulator over real HTTP, asked rightly and wrongly."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.simulator import a_simulated_instance
from tests.support.simulator_visitor import CREATE, ORDER, V1, Visitor, visiting


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    async with visiting() as guest:
        yield guest


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/faults", {"fault": "earthquake"}, ("fault", "'earthquake'", "'latency', 'rateLimit'")),
        ("/faults", {"fault": "latency", "second": 1}, ("second", "takes fault, route, times")),
        ("/faults", {"fault": "latency", "seconds": "inf"}, ("seconds", "'inf'", "finite")),
        ("/faults", {"fault": "latency", "share": 1.5}, ("share", "1.5", "less than or equal to 1")),
        ("/faults", {}, ("fault", "required")),
        ("/clock", {}, ("speed or advance",)),
        ("/clock", {"advance": -1}, ("advance", "-1", "greater than or equal to 0")),
        (
            "/stock",
            {"productId": "no", "clusterId": "us-ca-6", "free": 1},
            ("productId", "'no'", "4090.16c62g"),
        ),
        (
            "/stock",
            {"productId": "4090.16c62g", "clusterId": "no", "free": 1},
            ("clusterId", "'no'", "us-ca-6"),
        ),
        ("/stock", {"productId": "4090.16c62g", "clusterId": "us-ca-6", "free": -1}, ("free", "-1")),
        ("/prices", {"productId": "no"}, ("productId", "'no'", "4090.16c62g")),
        ("/prices", {"productId": "4090.16c62g", "price": 10**30}, ("price",)),
        ("/reclaim/nobody", {}, ("id", "nobody")),
        ("/host-failure/nobody", {}, ("id", "nobody")),
        ("/app/nobody", {}, ("id", "nobody")),
        ("/app/*", {"mood": "sad"}, ("mood", "'sad'", "'tlsFailure'")),
        ("/seed", {"instances": 0}, ("instances", "0", "greater than or equal to 1")),
        ("/seed", {"instances": 1, "status": "pulling"}, ("status", "'pulling'", "'running' or 'exited'")),
        ("/keys", {"key": ""}, ("key",)),
        ("/fates", {"outcome": "fail", "verb": "dance"}, ("verb", "'dance'", "'create', 'start'")),
        (
            "/fates",
            {"outcome": "slow", "at": "running", "seconds": 10},
            ("at", "'running'", "pending, toCreate, creating, pulling"),
        ),
        (
            "/fates",
            {"outcome": "slow", "at": "exited", "verb": "stop"},
            ("at", "'exited'", "toStop, stopping"),
        ),
        ("/fates", {"outcome": "fail", "at": "pulling", "verb": "migrate"}, ("at", "'pulling'", "migrating")),
        ("/balance", {"usd": "much"}, ("usd", "'much'")),
        ("/balance", {"usd": "nan"}, ("usd", "'nan'")),
        ("/reset", {"now": True}, ("now", "takes nothing")),
    ],
    ids=str,
)
async def test_a_wrong_body_is_a_400_that_names_field_value_and_what_is_allowed(
    visitor: Visitor, path: str, body: dict[str, object], named: tuple[str, ...]
) -> None:
    response = await visitor.control(path, **body)

    assert (response.status_code, response.json()["reason"]) == (400, "BAD_CONTROL")
    assert [word for word in named if word not in response.json()["message"]] == []


async def test_an_unknown_control_is_told_which_there_are(visitor: Visitor) -> None:
    unknown = await visitor.client.get("/_sim/legder")
    wrong_method = await visitor.client.put("/_sim/faults", json={})
    overview = await visitor.client.get("/_sim", follow_redirects=True)

    assert (unknown.status_code, wrong_method.status_code, overview.status_code) == (404, 404, 200)
    assert "GET /_sim/ledger" in unknown.json()["message"]
    assert "PUT /_sim/faults: no such control" in wrong_method.json()["message"]


async def test_stock_and_prices(visitor: Visitor) -> None:
    place = {"productId": "4090.16c62g", "clusterId": "us-ca-6"}
    for cluster_id in ("us-ca-6", "as-sgp-2", "eu-gb-1"):
        await visitor.control("/stock", **{**place, "clusterId": cluster_id, "free": 0})
    await visitor.control("/prices", productId="4090.16c62g", price=36_000, spotPrice=0)

    refused = await visitor.create()
    rows = (await visitor.client.get(f"{V1}/products")).json()["data"]
    row = next(each for each in rows if each["id"] == "4090.16c62g")

    assert refused.json()["reason"] == "INSUFFICIENT_RESOURCE"
    assert (row["price"], row["spotPrice"], row["availableDeploy"]) == ("36000", "0", False)
    stock = (await visitor.client.get("/_sim/stock")).json()["stock"]
    assert any(shelf["free"] == 0 and shelf["clusterId"] == "us-ca-6" for shelf in stock)


async def test_reclaim_with_notice_and_at_once(visitor: Visitor) -> None:
    order = {**ORDER, "billingMode": "spot"}
    key = (await visitor.client.post(CREATE, json=order)).json()["id"]
    await visitor.control("/clock", advance=60)
    noticed = (await visitor.control(f"/reclaim/{key}", noticeSeconds=90)).json()
    at_once = (await visitor.control(f"/reclaim/{key}", noticeSeconds=0)).json()
    await visitor.control("/clock", advance=60)
    body = (await visitor.client.get(f"{V1}/gpu/instance", params={"instanceId": key})).json()

    assert (noticed["spotStatus"], at_once["spotStatus"]) == ("notified", "reclaiming")
    assert (body["status"], body["spotStatus"]) == ("exited", "terminated")
    assert body["spotReclaimTime"] != "0"


async def test_the_ledger_knows_the_living_and_the_removed(visitor: Visitor) -> None:
    first = (await visitor.create()).json()["id"]
    await visitor.create()
    await visitor.control("/clock", advance=3_600)
    await visitor.client.post(f"{V1}/gpu/instance/delete", json={"instanceId": first})
    await visitor.control("/clock", advance=60)

    ledger = (await visitor.client.get("/_sim/ledger")).json()
    lines = {line["id"]: line for line in ledger["instances"]}

    assert ledger["alive"] == 1
    assert lines[first]["alive"] is False
    assert lines[first]["status"] == "removed"
    assert 3_500 < lines[first]["seconds"] <= 3_600
    assert lines[first]["cost"] == 35_000 * lines[first]["seconds"] // 3600


async def test_calls_are_counted_and_logged(visitor: Visitor) -> None:
    await asyncio.gather(*(visitor.create() for _ in range(5)))

    calls = (await visitor.client.get("/_sim/calls", params={"log": 2})).json()
    await visitor.client.delete("/_sim/calls")
    after = (await visitor.client.get("/_sim/calls")).json()

    assert calls["routes"] == {f"POST {CREATE}": 5}
    assert calls["answers"][f"POST {CREATE}"] == {"200": 5}
    assert [record["answer"] for record in calls["log"]] == ["200", "200"]
    assert calls["inFlight"] == 0
    assert after["total"] == 0


async def test_seed_reset_and_overview(visitor: Visitor) -> None:
    seeded = (await visitor.control("/seed", instances=250, status="exited")).json()
    overview = (await visitor.client.get("/_sim/")).json()
    total = (await visitor.client.get(f"{V1}/gpu/instances")).json()["total"]
    await visitor.control("/reset")
    empty = (await visitor.client.get("/_sim/")).json()

    assert (seeded["seeded"], overview["instances"], total) == (250, 250, 250)
    assert overview["mode"] == "explicit"
    assert (empty["instances"], empty["everCreated"]) == (0, 0)


async def test_balance_quota_and_keys(visitor: Visitor) -> None:
    await visitor.control("/quota", instances=0)
    over_quota = await visitor.create()
    await visitor.control("/quota", instances=5, gpus=5)
    poor = (await visitor.control("/balance", usd=0)).json()
    without_money = await visitor.create()
    await visitor.control("/keys", key="sk_journey", forbidden=True)
    forbidden = await visitor.create()
    await visitor.control("/keys", key="sk_journey", invalid=True)
    invalid = await visitor.create()
    await visitor.control("/keys", key="sk_journey", account="rich")
    welcome = await visitor.create()

    assert over_quota.json()["reason"] == "CREATE_INSTANCE_LIMIT"
    assert (poor["balance"], without_money.json()["reason"]) == (0, "BALANCE_NOT_ENOUGH")
    assert (forbidden.status_code, invalid.status_code, welcome.status_code) == (403, 401, 200)


async def test_fates_lag_and_clock(visitor: Visitor) -> None:
    await visitor.control("/fates", outcome="fail", message="disk full", times=2)
    await visitor.client.delete("/_sim/fates")
    await visitor.control("/fates", outcome="fail", message="no such image")
    await visitor.control("/lag", createSeconds=5)
    key = (await visitor.create()).json()["id"]
    hidden = (await visitor.client.get(f"{V1}/gpu/instances")).json()["total"]
    clock = (await visitor.control("/clock", advance=60, speed=0)).json()
    body = (await visitor.client.get(f"{V1}/gpu/instance", params={"instanceId": key})).json()

    assert hidden == 0
    assert (body["status"], body["statusError"]["message"]) == ("exited", "no such image")
    assert clock["now"] == (await visitor.client.get("/_sim/clock")).json()["now"]


@pytest.mark.parametrize(
    ("verb", "station"),
    [
        ("create", "pulling"),
        ("start", "starting"),
        ("stop", "stopping"),
        ("restart", "restarting"),
        ("migrate", "migrating"),
        ("upgrade", "resetting"),
        ("delete", "removing"),
    ],
)
async def test_every_verb_has_a_status_in_which_its_fate_usually_strikes(
    visitor: Visitor, verb: str, station: str
) -> None:
    answer = await visitor.control("/fates", outcome="stuck", verb=verb)

    assert answer.json() == {"waiting": 1, "at": station}


async def test_lists_lag_behind_verbs_for_as_long_as_a_control_says(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    await visitor.control("/lag", effectSeconds=40)
    await visitor.client.post(f"{V1}/gpu/instance/stop", json={"instanceId": instance.id})
    await visitor.control("/clock", advance=30)
    early = (await visitor.client.get(f"{V1}/gpu/instances")).json()["instances"]
    await visitor.control("/clock", advance=10)
    late = (await visitor.client.get(f"{V1}/gpu/instances")).json()["instances"]

    assert [row["status"] for row in (*early, *late)] == ["running", "exited"]


async def test_manners_and_gpu_use(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    manners = await visitor.control("/manners", storageCreate="string")
    body = {"clusterId": "us-ca-6", "storageName": "vol", "storageSize": 10}
    storage = await visitor.client.post(f"{V1}/networkstorage/create", json=body)
    await visitor.control("/clock", advance=86_400)
    ledger = (await visitor.client.get("/_sim/ledger")).json()
    await visitor.control(f"/gpu-use/{instance.id}", percent=0)
    now = (await visitor.control("/clock", advance=600)).json()["now"]
    window: dict[str, str | int] = {
        "instanceId": instance.id,
        "startTime": int(now) - 300,
        "endTime": int(now) - 100,
    }
    metrics = await visitor.client.get("/openapi/v1/metrics/gpu/instance", params=window)

    assert manners.status_code == 200
    assert isinstance(storage.json(), str)
    assert [(line["id"], line["cost"]) for line in ledger["storages"]] == [(storage.json(), 10 * 200)]
    assert ledger["cost"] == 10 * 200 + sum(line["cost"] for line in ledger["instances"])
    assert {point["value"] for point in metrics.json()["gpuUtilization"]["avg"]} == {0.0}


async def test_an_unknown_control_is_not_found(visitor: Visitor) -> None:
    for method, path in (("GET", "/_sim/nothing"), ("PUT", "/_sim/ledger")):
        response = await visitor.client.request(method, path)
        assert (response.status_code, response.json()["reason"]) == (404, "API_NOT_FOUND")
