"""Ordering an instance through v2 of the simulated cloud.

What a create asks for, where the instance goes, and what is refused.
"""

from collections.abc import Mapping

import pytest

from ostler.simulator.accounting import set_balance
from ostler.simulator.instance import Mode
from ostler.simulator.market import Shelf
from ostler.simulator.stockroom import fill
from tests.support.simulated_account import V1, V2, Answer, Cloud

MINIMAL: dict[str, object] = {
    "name": "demo",
    "product_id": "4090.16c62g",
    "image": "novitalabs/ubuntu:22.04",
    "billing": {"mode": "postpaid"},
    "resource": {"rootfs_size_gb": 60, "gpu_num": 1},
}


def create(cloud: Cloud, **fields: object) -> Answer:
    return cloud.post(f"{V2}/instances", {**MINIMAL, **fields})


def member(answer: Answer, key: str) -> Mapping[str, object]:
    value = answer[key]
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("regions", "placed"),
    [
        (["us-ca-6", "as-sgp-2"], "us-ca-6"),
        (["as-sgp-2", "us-ca-6"], "as-sgp-2"),
        (["cn-hongkong-1", "as-sgp-2"], "as-sgp-2"),
    ],
)
def test_candidate_regions_are_tried_in_their_order(regions: list[str], placed: str) -> None:
    cloud = Cloud()

    instance_id = create(cloud, candidate_regions=regions).text("id")

    assert cloud.get(f"{V2}/instances/{instance_id}")["region"] == placed


def test_when_no_candidate_has_stock_nothing_is_made() -> None:
    cloud = Cloud()
    fill(cloud.world, Shelf("4090.16c62g", "us-ca-6", Mode.ON_DEMAND, free=0, capacity=8))

    answer = create(cloud, candidate_regions=["us-ca-6", "cn-hongkong-1"])

    assert (answer.status, answer.reason) == (400, "INSUFFICIENT_RESOURCE")
    assert cloud.get(f"{V2}/instances")["total"] == 0


@pytest.mark.parametrize(
    ("mode", "shown"), [("postpaid", "onDemand"), ("prepaid", "monthly"), ("spot", "spot")]
)
def test_billing_modes_have_other_names_in_v1(mode: str, shown: str) -> None:
    cloud = Cloud()
    set_balance(cloud.world, cloud.account, 10**9)

    instance_id = create(cloud, billing={"mode": mode}, candidate_regions=["us-ca-6"]).text("id")

    assert cloud.get(f"{V1}/gpu/instance", {"instanceId": instance_id})["billingMode"] == shown
    assert member(cloud.get(f"{V2}/instances/{instance_id}"), "billing")["mode"] == mode


def test_months_in_advance_and_their_renewal_are_kept() -> None:
    cloud = Cloud()
    set_balance(cloud.world, cloud.account, 10**9)
    prepaid = {"months": 3, "auto_renew": {"enabled": True, "months": 1}}

    instance_id = create(cloud, billing={"mode": "prepaid", "prepaid": prepaid}).text("id")

    shown = member(cloud.get(f"{V2}/instances/{instance_id}"), "billing")["prepaid"]
    assert isinstance(shown, dict)
    assert shown["months"] == 3
    assert int(shown["end_time"]) == int(cloud.world.now + 90 * 86_400)
    assert shown["auto_renew"] == {"enabled": True, "months": 1, "status": "active"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, {"enabled": True, "include_system_disk": True}),
        (
            {"auto_migrate": {"enabled": False, "include_system_disk": False}},
            {"enabled": False, "include_system_disk": False},
        ),
    ],
)
def test_moving_off_failing_nodes_is_chosen_at_the_create(
    given: dict[str, object], shown: dict[str, bool]
) -> None:
    cloud = Cloud()

    instance_id = create(cloud, **given).text("id")

    assert cloud.get(f"{V2}/instances/{instance_id}")["auto_migrate"] == shown


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 256},
        {"product_id": ""},
        {"product_id": "unknown"},
        {"image": ""},
        {"image": "x" * 501},
        {"type": "tpu"},
        {"billing": {}},
        {"billing": {"mode": "onDemand"}},
        {"resource": None},
        {"resource": {"gpu_num": 1, "rootfs_size_gb": 6145}},
        {"resource": {"gpu_num": 0, "rootfs_size_gb": 60}},
        {"resource": {"gpu_num": 9, "rootfs_size_gb": 60}},
        {"ports": [{"port": 2222, "protocol": "tcp"}]},
        {"tools": {"jupyter": {"enabled": True, "port": 2223}}},
        {"ports": [{"port": 80, "protocol": "udp"}]},
        {"ports": [{"port": port, "protocol": "tcp"} for port in range(1, 17)]},
        {"envs": [{"key": "", "value": "v"}]},
        {"candidate_regions": ["nowhere"]},
        {"registry_auth_id": "unknown"},
        {"volumes": [{"type": "network", "id": "unknown"}]},
        {"network": {"id": "unknown"}},
    ],
)
def test_an_instance_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    cloud = Cloud()

    answer = create(cloud, **wrong)

    assert answer.status == 400, answer.body
    assert cloud.get(f"{V2}/instances")["total"] == 0


def test_tools_count_among_the_ports() -> None:
    cloud = Cloud()
    ports = [{"port": port, "protocol": "tcp"} for port in range(1, 16)]

    assert create(cloud, ports=ports).status == 200
    assert create(cloud, ports=ports, tools={"jupyter": {"enabled": True, "port": 8888}}).status == 400


def test_a_cpu_instance_has_no_gpus() -> None:
    cloud = Cloud()

    resource = {"rootfs_size_gb": 20}
    answer = create(cloud, type="cpu", product_id="cpu.4c8g", resource=resource)

    specs = member(cloud.get(f"{V2}/instances/{answer['id']}"), "resource_specs")
    assert (specs["gpu_num"], specs["cpu_num"], specs["memory_gb"]) == (0, 4, "8")


def test_a_fixed_address_in_a_network_is_given() -> None:
    cloud = Cloud()
    cloud.post(f"{V2}/networks", {"region_id": "us-ca-6", "name": "vpc"})
    cloud.pass_time(10)
    network = cloud.get(f"{V2}/networks").rows()[0]

    answer = create(cloud, network={"id": network["id"], "ip": "10.1.3.4"})

    shown = cloud.get(f"{V2}/instances/{answer['id']}")
    assert shown["network"] == {"id": network["id"], "ip": "10.1.3.4"}
    assert shown["region"] == "us-ca-6"


def test_a_disk_is_mounted_and_decides_the_region() -> None:
    cloud = Cloud()
    storage = {"clusterId": "as-sgp-2", "storageName": "data", "storageSize": 100}
    storage_id = cloud.post(f"{V1}/networkstorage/create", storage)["storageId"]
    volume = {"type": "network", "id": storage_id, "mount_point": "/data"}

    answer = create(cloud, volumes=[volume])

    shown = cloud.get(f"{V2}/instances/{answer['id']}")
    assert shown["volumes"] == [{**volume, "size": 100}]
    assert shown["region"] == "as-sgp-2"
