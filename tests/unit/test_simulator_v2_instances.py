"""Instances through v2 of the simulated cloud: the same ones as in v1, in other words.

What is made in one API is looked at through the other.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ostler.simulator import creation
from ostler.simulator.genesis import saved_world
from ostler.simulator.instance import Mode
from ostler.simulator.status import Status
from tests.support.simulated_account import V1, V2, Answer, Cloud, a_running_instance, an_order, put_instance

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


def test_an_instance_made_in_v2_is_visible_in_v1() -> None:
    cloud = Cloud()

    instance_id = create(cloud, candidate_regions=["us-ca-6"]).text("id")

    seen = cloud.get(f"{V1}/gpu/instance", {"instanceId": instance_id})
    assert (seen["name"], seen["clusterId"], seen["status"]) == ("demo", "us-ca-6", "pending")


def test_an_instance_made_in_v1_is_visible_in_v2_with_the_live_types() -> None:
    cloud = Cloud()
    body = {
        "productId": "4090.16c62g",
        "gpuNum": 2,
        "rootfsSize": 100,
        "imageUrl": "novitalabs/ubuntu:22.04",
        "kind": "gpu",
        "ports": "30000/http",
        "envs": [{"key": "A", "value": "1"}],
        "clusterId": "us-ca-6",
    }
    instance_id = cloud.post(f"{V1}/gpu/instance/create", body).text("id")
    cloud.pass_time(400)

    seen = cloud.get(f"{V2}/instances/{instance_id}")

    assert seen["billing"] == {"mode": "postpaid"}
    assert seen["status"] == {"status": "running", "error": "", "message": ""}
    specs = member(seen, "resource_specs")
    assert (specs["gpu_num"], specs["cpu_num"], specs["memory_gb"]) == (2, 32, "124")
    assert all(isinstance(seen[key], str) for key in ("created_at", "last_started_at", "last_stopped_at"))
    endpoint = f"https://{instance_id}-30000.us-ca-6.gpu-instance.novita.ai"
    assert seen["ports"] == [{"port": 30000, "protocol": "http", "endpoint": endpoint}]


def test_only_a_single_instance_shows_the_ways_into_it() -> None:
    cloud = Cloud()
    tools = {"jupyter": {"enabled": True, "port": 8888, "protocol": "http"}}
    instance_id = create(cloud, tools=tools, candidate_regions=["us-ca-6"]).text("id")
    cloud.pass_time(400)

    seen = member(cloud.get(f"{V2}/instances/{instance_id}"), "tools")

    assert "tools" not in cloud.get(f"{V2}/instances").rows()[0]
    ssh, jupyter = seen["ssh"], seen["jupyter"]
    assert isinstance(ssh, dict)
    assert ssh["command"].startswith("ssh -p ")
    assert (ssh["username"], len(ssh["password"])) == ("root", 20)
    assert isinstance(jupyter, dict)
    assert (jupyter["enabled"], jupyter["port"]) == (True, 8888)
    assert jupyter["endpoint"].startswith("https://")


def test_before_it_runs_nothing_leads_into_an_instance() -> None:
    cloud = Cloud()
    instance_id = create(cloud).text("id")

    seen = member(cloud.get(f"{V2}/instances/{instance_id}"), "tools")

    assert seen["ssh"] == {"command": "", "password": "", "username": "root"}
    assert seen["log"] == {"instance_endpoint": "", "system_endpoint": ""}


def test_the_list_leads_through_all_instances_by_cursors() -> None:
    cloud = Cloud()
    made = [creation.create(cloud.world, an_order(cloud)).id for _ in range(5)]
    seen: list[object] = []
    cursor = ""
    while True:
        page = cloud.get(f"{V2}/instances", {"limit": "2", "cursor": cursor})
        seen += [row["id"] for row in page.rows()]
        cursor = page.text("next_cursor")
        if not page["has_more"]:
            break

    assert sorted(map(str, seen)) == sorted(made)
    assert page["total"] == 5


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"name": "DEM"}, 1),
        ({"name": "aaaa"}, 1),
        ({"name": "other"}, 0),
        ({"status": "running"}, 1),
        ({"status": "exited"}, 0),
        ({"regions": "as-sgp-2,us-ca-6"}, 1),
        ({"regions": "as-sgp-2"}, 0),
        ({"billing_mode": "postpaid"}, 1),
        ({"billing_mode": "spot"}, 0),
    ],
)
def test_instances_are_filtered(query: dict[str, str], found: int) -> None:
    cloud = Cloud()
    put_instance(cloud, "a" * 16, Status.RUNNING)

    assert cloud.get(f"{V2}/instances", query)["total"] == found


@pytest.mark.parametrize(
    "query", [{"status": "x" * 64}, {"billing_mode": "onDemand"}, {"cursor": "x" * 1025}]
)
def test_a_filter_that_makes_no_sense_is_refused(query: dict[str, str]) -> None:
    assert Cloud().get(f"{V2}/instances", query).status == 400


def test_a_new_instance_may_be_missing_from_lists_for_a_while() -> None:
    cloud = Cloud()
    cloud.world.lag.create_s = 30.0
    instance_id = create(cloud).text("id")

    assert cloud.get(f"{V2}/instances")["total"] == 0
    assert cloud.get(f"{V2}/instances/{instance_id}").status == 200

    cloud.pass_time(30)
    assert cloud.get(f"{V2}/instances")["total"] == 1


def test_a_deleted_instance_is_gone_from_both_apis() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)

    assert cloud.delete(f"{V2}/instances/{instance.id}").body == {}
    assert member(cloud.get(f"{V2}/instances/{instance.id}"), "status")["status"] == "toRemove"

    cloud.pass_time(60)
    assert cloud.get(f"{V2}/instances/{instance.id}").status == 404
    assert cloud.get(f"{V1}/gpu/instance", {"instanceId": instance.id}).status == 404
    assert cloud.get(f"{V2}/instances")["total"] == 0


def test_an_instance_of_somebody_else_does_not_exist() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)
    other = Cloud(cloud.world, "sk_other")

    assert other.get(f"{V2}/instances/{instance.id}").status == 404
    assert other.delete(f"{V2}/instances/{instance.id}").status == 404
    assert other.get(f"{V2}/instances")["total"] == 0


def test_a_spot_instance_shows_no_reclaim_in_v2_but_does_in_v1() -> None:
    cloud = Cloud()
    order = replace(an_order(cloud), mode=Mode.SPOT)
    instance = a_running_instance(cloud, order)

    assert not any("spot" in key for key in cloud.get(f"{V2}/instances").rows()[0])
    assert cloud.get(f"{V1}/gpu/instance", {"instanceId": instance.id})["spotStatus"] == "running"


def test_a_cursor_leads_on_though_instances_went_and_the_simulator_began_anew() -> None:
    cloud = Cloud()
    made = [creation.create(cloud.world, an_order(cloud)).id for _ in range(6)]
    first = cloud.get(f"{V2}/instances", {"limit": "3"})
    for gone in (made[0], made[2], made[4]):
        cloud.delete(f"{V2}/instances/{gone}")
    cloud.pass_time(60)

    again = Cloud(saved_world(cloud.world.now, cloud.world.take_changes()))
    rest = again.get(f"{V2}/instances", {"limit": "3", "cursor": first.text("next_cursor")})

    assert [row["id"] for row in first.rows()] == made[:3]
    assert [row["id"] for row in rest.rows()] == [made[3], made[5]]
    assert rest["has_more"] is False
