"""The v1 catalogue of the simulator: clusters, products and their stock by cluster, mode and number of
GPUs.
"""

from ostler.simulator.instance import Mode
from ostler.simulator.market import Shelf
from ostler.simulator.stockroom import fill
from tests.support.simulated_account import V1, Cloud


def products(cloud: Cloud, **query: str) -> dict[object, dict[str, object]]:
    return {row["id"]: row for row in cloud.get(f"{V1}/products", query).rows()}


def test_clusters_name_their_machines_and_abilities() -> None:
    rows = {row["id"]: row for row in Cloud().get(f"{V1}/clusters").rows()}

    assert rows["us-ca-6"]["name"] == "US-CA-06 (California)"
    assert rows["us-ca-6"]["supportNetworkStorage"] is True
    assert rows["us-ca-3"]["supportInstanceNetwork"] is False
    assert rows["as-in-1"]["availableGpuType"] == ["L40S 48GB", "RTX 4090 24GB"]


def test_prices_are_strings_and_regions_are_names() -> None:
    row = products(Cloud())["4090.16c62g"]

    assert (row["price"], row["spotPrice"]) == ("35000", "17500")
    months = row["monthlyPrice"]
    assert isinstance(months, list)
    assert months[0] == {"price": "22680000", "month": 1}
    assert row["regions"] == [
        "US-CA-06 (California)",
        "AS-SGP-02 (Singapore)",
        "EU-GB-01 (United Kingdom)",
    ]
    assert row["billingMethods"] == ["onDemand", "monthly", "spot"]


def test_what_is_not_sold_as_spot_is_not_listed_for_spot() -> None:
    cloud = Cloud()

    assert products(cloud)["H100-80GB.20c240g"]["spotPrice"] == "0"
    assert "H100-80GB.20c240g" not in products(cloud, billingMethod="spot")
    assert "4090.16c62g" in products(cloud, billingMethod="spot")


def test_availability_depends_on_cluster_mode_and_number() -> None:
    cloud = Cloud()
    fill(cloud.world, Shelf("4090.16c62g", "us-ca-6", Mode.ON_DEMAND, 2, 400))

    def is_left(**query: str) -> object:
        return products(cloud, **query)["4090.16c62g"]["availableDeploy"]

    assert is_left(clusterId="us-ca-6", gpuNum="2") is True
    assert is_left(clusterId="us-ca-6", gpuNum="3") is False
    assert is_left(gpuNum="3") is True
    assert is_left(clusterId="eu-gb-1", billingMethod="spot") is False
    assert is_left(clusterId="us-ca-6", billingMethod="spot", gpuNum="8") is True


def test_the_stock_is_told_in_words() -> None:
    cloud = Cloud()

    def state(free: int) -> object:
        fill(cloud.world, Shelf("4090.16c62g", "us-ca-6", Mode.ON_DEMAND, free, 100))
        return products(cloud, clusterId="us-ca-6")["4090.16c62g"]["inventoryState"]

    assert [state(free) for free in (0, 5, 50, 95)] == ["none", "low", "normal", "high"]


def test_a_cluster_lists_only_what_it_sells() -> None:
    cloud = Cloud()

    assert set(products(cloud, clusterId="oc-au-1")) == {"4090.16c62g.os"}
    assert products(cloud, clusterId="oc-au-1")["4090.16c62g.os"]["regions"] == ["OC-AU-01 (Australia)"]
    assert products(cloud, clusterId="nowhere") == {}


def test_what_a_cluster_sells_as_spot_only_is_listed_there() -> None:
    cloud = Cloud()
    fill(cloud.world, Shelf("L40S.22c125g", "oc-au-1", Mode.SPOT, 4, 4))

    row = products(cloud, clusterId="oc-au-1", billingMethod="spot")["L40S.22c125g"]
    cluster = next(row for row in cloud.get(f"{V1}/clusters").rows() if row["id"] == "oc-au-1")

    assert (row["availableDeploy"], row["regions"]) == (True, ["OC-AU-01 (Australia)"])
    assert cluster["availableGpuType"] == ["L40S 48GB", "RTX 4090 24GB"]
    assert products(cloud, clusterId="oc-au-1")["L40S.22c125g"]["availableDeploy"] is False


def test_a_mode_that_is_left_empty_is_on_demand() -> None:
    assert products(Cloud(), billingMethod="").keys() == products(Cloud()).keys()


def test_filters_narrow_the_list() -> None:
    cloud = Cloud()

    assert set(products(cloud, productName="l40s")) == {"L40S.22c125g"}
    assert set(products(cloud, minCpuPerGpu="22")) == {"L40S.22c125g", "H200-141GB.24c256g"}
    assert set(products(cloud, minMemoryPerGpu="240")) == {
        "A100-80GB.14c240g",
        "H100-80GB.20c240g",
        "H200-141GB.24c256g",
    }
    assert products(cloud, minRootFSSize="7000") == {}


def test_a_wrong_mode_or_number_is_refused() -> None:
    cloud = Cloud()

    for query in ({"billingMethod": "weekly"}, {"gpuNum": "9"}, {"gpuNum": "-1"}):
        assert cloud.get(f"{V1}/products", query).reason == "VALIDATOR_PARAM"


def test_cpu_machines_have_a_list_of_their_own() -> None:
    cloud = Cloud()

    rows = {row["id"]: row for row in cloud.get(f"{V1}/cpu/products", {"clusterId": "us-ca-6"}).rows()}

    assert rows["cpu.8c16g"] == {
        "id": "cpu.8c16g",
        "name": "CPU 8 cores 16GB",
        "cpuNum": 8,
        "memorySize": 16,
        "rootfsSize": 10,
        "localVolumeSize": 0,
        "availableDeploy": True,
        "price": "8000",
    }
    assert "cpu.16c32g" not in {
        row["id"] for row in cloud.get(f"{V1}/cpu/products", {"clusterId": "as-sgp-2"}).rows()
    }
    assert "cpu.8c16g" not in products(cloud)
