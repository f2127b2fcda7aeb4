"""What is sold, as v2 of the simulated cloud shows it: regions and products.

Both show the market of the same world.
"""

import pytest

from ostler.simulator.instance import Mode
from ostler.simulator.market import Shelf
from ostler.simulator.stockroom import fill
from tests.support.simulated_account import V1, V2, Answer, Cloud

ASKED = {"type": "gpu", "category": "instance", "limit": "100"}


def product(cloud: Cloud, product_id: str, **query: str) -> dict[str, object]:
    rows = cloud.get(f"{V2}/products", {**ASKED, **query}).rows()
    return next(row for row in rows if row["id"] == product_id)


def ids(answer: Answer) -> list[object]:
    return [row["id"] for row in answer.rows()]


def test_regions_are_the_clusters_of_v1() -> None:
    cloud = Cloud()

    regions = cloud.get(f"{V2}/regions").rows()
    clusters = cloud.get(f"{V1}/clusters").rows()

    assert {(row["id"], row["name"]) for row in regions} == {(row["id"], row["name"]) for row in clusters}
    by_id = {row["id"]: row for row in regions}
    assert by_id["us-ca-3"]["feature"] == {"network_volume": False, "instance_vpc_network": False}
    assert by_id["oc-au-1"]["gpus"] == ["RTX 4090 24GB"]


def test_regions_come_in_pages() -> None:
    cloud = Cloud()
    first = cloud.get(f"{V2}/regions", {"limit": "4"})

    second = cloud.get(f"{V2}/regions", {"limit": "4", "cursor": first.text("next_cursor")})

    assert (len(ids(first)), first["has_more"], first["total"]) == (4, True, 7)
    assert (len(ids(second)), second["has_more"], second["next_cursor"]) == (3, False, "")
    assert not set(ids(first)) & set(ids(second))


@pytest.mark.parametrize("query", [{}, {"type": "gpu"}, {"category": "instance"}])
def test_type_and_category_are_required(query: dict[str, str]) -> None:
    answer = Cloud().get(f"{V2}/products", query)

    assert (answer.status, answer.reason) == (400, "VALIDATOR_PARAM")
    assert answer["message"] == "type and category are required"


@pytest.mark.parametrize("wrong", [{"type": "tpu"}, {"category": "bare-metal"}])
def test_an_unknown_type_or_category_is_refused(wrong: dict[str, str]) -> None:
    assert Cloud().get(f"{V2}/products", {**ASKED, **wrong}).status == 400


def test_a_price_is_divided_by_the_precision() -> None:
    pricing = product(Cloud(), "4090.16c62g")["pricing"]

    assert isinstance(pricing, dict)
    assert pricing["postpaid"]["final_price"] / 10 ** pricing["precision"] == 0.35
    assert pricing["spot"]["final_price"] / 10 ** pricing["precision"] == 0.175
    assert [term["duration_months"] for term in pricing["prepaid"]] == [1, 3, 6, 12]


def test_what_is_not_sold_as_spot_has_no_spot_price() -> None:
    h100 = product(Cloud(), "H100-80GB.20c240g")

    assert isinstance(h100["pricing"], dict)
    assert h100["pricing"]["spot"] is None
    assert h100["billing_methods"] == ["postpaid", "prepaid"]


def test_serverless_products_are_paid_by_the_second() -> None:
    row = product(Cloud(), "4090.16c62g", category="serverless")

    assert (row["category"], row["billing_methods"]) == ("serverless", ["postpaid"])


def test_cpu_products_have_no_gpu() -> None:
    (row,) = Cloud().get(f"{V2}/products", {**ASKED, "type": "cpu", "cpu": "16"}).rows()

    assert (row["id"], row["type"]) == ("cpu.16c32g", "cpu")
    assert isinstance(row["resource_spec"], dict)
    assert "gpu" not in row["resource_spec"]
    assert row["resource_spec"]["memory_gb"] == 32


@pytest.mark.parametrize(
    ("free", "state", "deployable"),
    [(0, "none", False), (3, "low", True), (4, "normal", True), (32, "high", True)],
)
def test_the_inventory_says_how_much_is_left(free: int, state: str, *, deployable: bool) -> None:
    cloud = Cloud()
    fill(cloud.world, Shelf("H200-141GB.24c256g", "us-ca-6", Mode.ON_DEMAND, free=free, capacity=64))

    row = product(cloud, "H200-141GB.24c256g")

    assert (row["inventory_state"], row["deployable"]) == (state, deployable)
    spec = row["resource_spec"]
    assert isinstance(spec, dict)
    assert (spec["gpu"]["available"], spec["gpu"]["max_available"]) == (free, min(8, free))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"name": "h100"}, {"H100-80GB.20c240g"}),
        ({"memory_gb": "241"}, {"H200-141GB.24c256g"}),
        ({"memory_gb": "256"}, {"H200-141GB.24c256g"}),
        ({"cpu": "22", "memory_gb": "200"}, {"H200-141GB.24c256g"}),
        ({"region_ids": "oc-au-1"}, {"4090.16c62g.os"}),
    ],
)
def test_products_are_filtered(query: dict[str, str], found: set[str]) -> None:
    assert set(ids(Cloud().get(f"{V2}/products", {**ASKED, **query}))) == found
