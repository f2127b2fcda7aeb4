"""Serverless endpoints of the simulated cloud, through v1's routes.

Workers are not simulated one by one, so only their least number shows.
"""

import pytest

from tests.support.simulated_account import V1, Answer, Cloud

ENDPOINT: dict[str, object] = {
    "name": "worker",
    "appName": "app",
    "workerConfig": {"minNum": 1, "maxNum": 3, "freeTimeout": 60, "maxConcurrent": 2, "gpuNum": 1},
    "ports": [{"port": "8080"}],
    "policy": {"type": "queue", "value": 30},
    "image": {"image": "me/worker:1", "authId": "", "command": "run"},
    "products": [{"id": "4090.16c62g"}],
    "rootfsSize": 50,
    "volumeMounts": [{"type": "local", "size": 30, "mountPath": "/workspace"}],
    "clusterID": "us-ca-6",
    "envs": [{"key": "A", "value": "1"}],
    "healthy": {"path": "/health"},
}


def create(cloud: Cloud, **fields: object) -> Answer:
    return cloud.post(f"{V1}/endpoint/create", {"endpoint": {**ENDPOINT, **fields}})


def test_a_new_endpoint_is_found_by_its_id_with_all_that_was_given() -> None:
    cloud = Cloud()

    endpoint = cloud.get(f"{V1}/endpoint", {"id": create(cloud).text("id")})

    assert (endpoint["name"], endpoint["appName"], endpoint["rootfsSize"]) == ("worker", "app", 50)
    assert (endpoint["image"], endpoint["ports"]) == (ENDPOINT["image"], ENDPOINT["ports"])
    assert (endpoint["envs"], endpoint["products"]) == (ENDPOINT["envs"], ENDPOINT["products"])
    healthy = endpoint["healthy"]
    assert isinstance(healthy, dict)
    assert healthy["path"] == "/health"
    assert endpoint["policy"] == {"type": "queue", "value": "30"}
    assert endpoint["state"] == {"state": "deploying", "error": "", "message": ""}


def test_an_endpoint_serves_after_a_while_with_its_least_number_of_workers() -> None:
    cloud = Cloud()
    endpoint_id = create(cloud).text("id")
    assert cloud.get(f"{V1}/endpoint", {"id": endpoint_id}).rows("workers") == []

    cloud.pass_time(20)

    endpoint = cloud.get(f"{V1}/endpoint", {"id": endpoint_id})
    assert [worker["healthy"] for worker in endpoint.rows("workers")] == [True]
    assert endpoint["state"] == {"state": "serving", "error": "", "message": ""}


def test_an_update_leaves_what_it_does_not_name() -> None:
    cloud = Cloud()
    endpoint_id = create(cloud).text("id")

    answer = cloud.post(
        f"{V1}/endpoint/update", {"id": endpoint_id, "workerConfig": {"maxNum": 9}, "rootfsSize": 60}
    )

    assert answer.body == {}
    endpoint = cloud.get(f"{V1}/endpoint", {"id": endpoint_id})
    workers = endpoint["workerConfig"]
    assert isinstance(workers, dict)
    assert (workers["minNum"], workers["maxNum"], workers["freeTimeout"]) == (1, 9, "60")
    assert (endpoint["rootfsSize"], endpoint["ports"]) == (60, ENDPOINT["ports"])


def test_an_endpoint_is_deleted_by_its_id_under_the_name_name_and_only_once() -> None:
    cloud = Cloud()
    endpoint_id = create(cloud).text("id")

    first = cloud.post(f"{V1}/endpoint/delete", {"name": endpoint_id})
    second = cloud.post(f"{V1}/endpoint/delete", {"name": endpoint_id})

    assert (first.body, second.status) == ({}, 400)
    assert cloud.get(f"{V1}/endpoints").body == {"endpoints": [], "total": 0}
    assert cloud.get(f"{V1}/endpoint", {"id": endpoint_id}).status == 400


def test_without_a_page_size_all_are_listed() -> None:
    cloud = Cloud()
    for number in range(12):
        create(cloud, name=f"worker-{number}")

    assert len(cloud.get(f"{V1}/endpoints").rows("endpoints")) == 12
    page = cloud.get(f"{V1}/endpoints", {"pageNum": "2", "pageSize": "5"})
    assert [row["name"] for row in page.rows("endpoints")] == [f"worker-{number}" for number in range(5, 10)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, "VALIDATOR_PARAM"),
        ({"image": {"image": ""}}, "VALIDATOR_PARAM"),
        ({"image": {"image": "i", "command": "x" * 2048}}, "VALIDATOR_PARAM"),
        ({"image": {"image": "i", "authId": "unknown"}}, "NOT_FOUND"),
        ({"products": [{"id": "unknown"}]}, "SERVERLESS_PRODUCT_NOT_FOUND"),
        ({"products": []}, "SERVERLESS_PRODUCT_NOT_FOUND"),
        ({"clusterID": "nowhere"}, "VALIDATOR_PARAM"),
        ({"volumeMounts": [{"type": "network", "id": "unknown"}]}, "NOT_FOUND"),
        ({"ports": [{"port": "0"}]}, "VALIDATOR_PARAM"),
        ({"rootfsSize": 101}, "VALIDATOR_PARAM"),
        ({"policy": {"type": "whim", "value": 1}}, "VALIDATOR_PARAM"),
        ({"policy": {"type": "queue", "value": 0}}, "VALIDATOR_PARAM"),
        ({"workerConfig": {"minNum": 2, "maxNum": 1}}, "VALIDATOR_PARAM"),
        ({"workerConfig": {"maxNum": 0}}, "VALIDATOR_PARAM"),
        ({"workerConfig": {"gpuNum": 9}}, "VALIDATOR_PARAM"),
        ({"workerConfig": {"freeTimeout": 0}}, "VALIDATOR_PARAM"),
        ({"workerConfig": {"maxConcurrent": 0}}, "VALIDATOR_PARAM"),
        ({"workerConfig": {"requestTimeout": 1801}}, "VALIDATOR_PARAM"),
    ],
)
def test_an_endpoint_that_cannot_be_is_refused(fields: dict[str, object], reason: str) -> None:
    cloud = Cloud()

    answer = create(cloud, **fields)

    assert (answer.status, answer.reason) == (400, reason)
    assert cloud.get(f"{V1}/endpoints")["total"] == 0


def test_the_limits_are_pairs_of_integers_that_hold_together() -> None:
    limits = Cloud().get(f"{V1}/endpoint/limit").body

    assert isinstance(limits, dict)
    for name in ("RootfsSize", "LocalVolumeSize", "WorkerNum", "FreeTimeout", "ConcurrencyNum", "GPUNum"):
        assert 0 <= limits[f"min{name}"] <= limits[f"max{name}"]
    assert "12.4" in limits["cudaVersionList"]
