"""What an account owns, through v2 of the simulated cloud: the same things as in v1.

What is made in one API is looked at through the other.
"""

import pytest

from ostler.simulator.status import Status
from tests.support.simulated_account import V1, V2, Cloud, put_instance

INSTANCE = "a" * 16


def a_saved_image(cloud: Cloud, image: str) -> str:
    put_instance(cloud, INSTANCE, Status.RUNNING)
    body = {"instance_id": INSTANCE, "image": image}
    job_id = cloud.post(f"{V2}/jobs/save-image", body).text("job_id")
    cloud.pass_time(600)
    return job_id


def test_a_job_is_followed_to_its_end() -> None:
    cloud = Cloud()

    job_id = a_saved_image(cloud, "me/app:v1")

    job = cloud.get(f"{V2}/jobs/{job_id}")
    assert (job["type"], job["instance_id"], job["envs"]) == ("saveImage", INSTANCE, [])
    assert job["status"] == {"status": "success", "error": "", "message": ""}
    assert int(job.text("updated_at")) > int(job.text("created_at"))
    assert cloud.get(f"{V1}/jobs").rows("jobs")[0]["Id"] == job_id


def test_a_job_is_stopped_by_a_post() -> None:
    cloud = Cloud()
    put_instance(cloud, INSTANCE, Status.RUNNING)
    body = {"instance_id": INSTANCE, "image": "me/app:v1"}
    job_id = cloud.post(f"{V2}/jobs/save-image", body).text("job_id")

    assert cloud.post(f"{V2}/jobs/{job_id}/stop").body == {}

    assert [row["id"] for row in cloud.get(f"{V2}/jobs", {"status": "break"}).rows()] == [job_id]
    assert cloud.post(f"{V2}/jobs/unknown/stop").status == 400


@pytest.mark.parametrize(
    ("query", "found"),
    [({"type": "saveImage"}, 1), ({"status": "fail"}, 0), ({"instance_id": "other"}, 0)],
)
def test_jobs_are_filtered(query: dict[str, str], found: int) -> None:
    cloud = Cloud()
    a_saved_image(cloud, "me/app:v1")

    assert cloud.get(f"{V2}/jobs", query)["total"] == found


@pytest.mark.parametrize("body", [{"image": "i"}, {"instance_id": INSTANCE}])
def test_saving_wants_an_instance_and_an_image(body: dict[str, object]) -> None:
    cloud = Cloud()
    put_instance(cloud, INSTANCE, Status.RUNNING)

    assert cloud.post(f"{V2}/jobs/save-image", body).status == 400


def test_saved_images_are_listed_until_they_are_deleted() -> None:
    cloud = Cloud()
    a_saved_image(cloud, "me/app:v1")

    (image,) = cloud.get(f"{V2}/images").rows()

    assert (image["name"], image["image"]) == ("me/app", "me/app:v1")
    assert image["tags"] == [{"tag": "v1", "image": "me/app:v1"}]
    assert cloud.delete(f"{V2}/images/{image['id']}").body == {}
    assert cloud.get(f"{V2}/images").rows() == []
    assert cloud.delete(f"{V2}/images/{image['id']}").status == 400
    assert cloud.get(f"{V2}/jobs")["total"] == 1


def test_a_prewarm_task_is_made_here_and_seen_in_v1() -> None:
    cloud = Cloud()
    body = {"image": "x" * 600, "region_id": "us-ca-6", "product_ids": ["p"], "note": "n"}

    task_id = cloud.post(f"{V2}/prewarm-tasks", body).text("task_id")

    assert cloud.get(f"{V1}/image/prewarm").rows()[0]["id"] == task_id
    task = cloud.get(f"{V2}/prewarm-tasks/{task_id}")
    assert {key: task[key] for key in body} == body
    assert task["status"] == {"status": "pending", "error": "", "message": ""}
    cloud.pass_time(600)
    assert cloud.get(f"{V2}/prewarm-tasks", {"status": "succeeded"})["total"] == 1


def test_prewarm_tasks_are_deleted_by_a_body_with_their_ids() -> None:
    cloud = Cloud()
    ids = [
        cloud.post(f"{V2}/prewarm-tasks", {"image": image, "region_id": "us-ca-6"})["task_id"]
        for image in ("a", "b", "c")
    ]

    assert cloud.delete(f"{V2}/prewarm-tasks", {"task_ids": ids[:2]}).body == {}
    assert [row["task_id"] for row in cloud.get(f"{V2}/prewarm-tasks").rows()] == ids[2:]


@pytest.mark.parametrize(
    ("query", "status", "found"),
    [
        ({"status": "pending"}, 200, 1),
        ({"status": "running"}, 200, 0),
        ({"status": "Pending"}, 400, 0),
        ({"region_id": "as-sgp-2"}, 200, 0),
        ({"name": "IMAGE"}, 200, 1),
    ],
)
def test_prewarm_tasks_are_filtered(query: dict[str, str], status: int, found: int) -> None:
    cloud = Cloud()
    cloud.post(f"{V2}/prewarm-tasks", {"image": "image", "region_id": "us-ca-6"})

    answer = cloud.get(f"{V2}/prewarm-tasks", query)

    assert answer.status == status
    assert status == 400 or answer["total"] == found


def test_a_network_is_made_here_and_seen_in_v1() -> None:
    cloud = Cloud()

    assert cloud.post(f"{V2}/networks", {"region_id": "us-ca-6", "name": "vpc"}).body == {}

    (network,) = cloud.get(f"{V2}/networks").rows()
    assert network["status"] == {"status": "creating", "error": "", "message": ""}
    assert cloud.get(f"{V1}/networks").rows("networks")[0]["Id"] == network["id"]
    assert cloud.get(f"{V2}/networks/{network['id']}").body == network


def test_a_network_is_renamed_and_deleted() -> None:
    cloud = Cloud()
    cloud.post(f"{V2}/networks", {"region_id": "us-ca-6", "name": "vpc"})
    path = f"{V2}/networks/{cloud.get(f'{V2}/networks').rows()[0]['id']}"

    assert cloud.put(path, {"name": "renamed"}).body == {}
    assert cloud.get(path)["name"] == "renamed"
    assert cloud.put(path, {"name": ""}).status == 400
    assert cloud.delete(path).body == {}
    assert cloud.delete(path).status == 400


def test_networks_are_found_by_name_and_member() -> None:
    cloud = Cloud()
    for name in ("one", "two"):
        cloud.post(f"{V2}/networks", {"region_id": "us-ca-6", "name": name})
    two = cloud.get(f"{V2}/networks", {"name": "TWO"}).rows()[0]
    instance = put_instance(cloud, INSTANCE, Status.RUNNING)
    instance.network_id, instance.network_ip = str(two["id"]), "10.2.0.2"

    found = cloud.get(f"{V2}/networks", {"member_ids": f"other,{INSTANCE}"})

    assert [row["name"] for row in found.rows()] == ["two"]
    assert found.rows()[0]["members"] == [{"id": INSTANCE, "ip": "10.2.0.2"}]


TEMPLATE: dict[str, object] = {
    "name": "pytorch",
    "type": "instance",
    "image": "me/pytorch:1",
    "command": "run",
    "entrypoint": "/sh",
    "rootfs_size_gb": 50,
    "ports": [
        {"protocol": "http", "port": 8888},
        {"protocol": "tcp", "port": 22},
        {"protocol": "http", "port": 80},
    ],
    "envs": [{"key": "ENV", "value": "prod"}],
    "metadata": {"readme": "r", "logo": "l", "description": "d", "author": "a", "tags": ["cuda"]},
    "min_cuda_version": "12.2",
}


def test_a_template_is_made_here_and_seen_in_v1_with_grouped_ports() -> None:
    cloud = Cloud()

    template_id = cloud.post(f"{V2}/templates", TEMPLATE).text("template_id")

    shown = cloud.get(f"{V1}/template", {"templateId": template_id})["template"]
    assert isinstance(shown, dict)
    assert shown["ports"] == [{"type": "http", "ports": [8888, 80]}, {"type": "tcp", "ports": [22]}]
    assert (shown["startCommand"], shown["readme"]) == ("run", "r")


def test_a_template_is_shown_as_it_was_given() -> None:
    cloud = Cloud()
    template_id = cloud.post(f"{V2}/templates", TEMPLATE).text("template_id")

    shown = cloud.get(f"{V2}/templates/{template_id}").body

    assert isinstance(shown, dict)
    flat = [(port["protocol"], port["port"]) for port in shown.pop("ports")]
    assert sorted(flat) == [("http", 80), ("http", 8888), ("tcp", 22)]
    assert shown.items() >= {key: value for key, value in TEMPLATE.items() if key != "ports"}.items()


def test_a_template_is_changed_and_deleted() -> None:
    cloud = Cloud()
    template_id = cloud.post(f"{V2}/templates", TEMPLATE).text("template_id")
    path = f"{V2}/templates/{template_id}"

    answer = cloud.put(path, {"name": "renamed", "metadata": {"tags": []}})

    assert answer.body == {"template_id": template_id}
    shown = cloud.get(path)
    metadata = shown["metadata"]
    assert isinstance(metadata, dict)
    assert (shown["name"], shown["image"]) == ("renamed", "me/pytorch:1")
    assert (metadata["tags"], metadata["readme"]) == ([], "r")
    assert cloud.put(path, {"rootfs_size_gb": 5}).status == 400
    assert cloud.delete(path).body == {}
    assert cloud.get(path).status == 400


def test_templates_are_filtered_and_paged() -> None:
    cloud = Cloud()

    official = cloud.get(f"{V2}/templates", {"channel": "official", "limit": "3"})
    rest = cloud.get(
        f"{V2}/templates", {"channel": "official", "limit": "3", "cursor": official.text("next_cursor")}
    )
    named = cloud.get(f"{V2}/templates", {"name": "vllm"})

    assert (len(official.rows()), len(rest.rows()), official["total"]) == (3, 1, 4)
    assert {row["channel"] for row in (*official.rows(), *rest.rows())} == {"official"}
    assert [row["name"] for row in named.rows()] == ["vllm-openai"]


def test_the_clouds_own_templates_cannot_be_changed_here_either() -> None:
    assert Cloud().put(f"{V2}/templates/101", {"name": "mine"}).reason == "NO_PERMISSION"
    assert Cloud().delete(f"{V2}/templates/101").reason == "NO_PERMISSION"


ENDPOINT: dict[str, object] = {
    "name": "worker",
    "product_id": "4090.16c62g",
    "image": "me/worker:1",
    "policy": {"type": "request_count", "value": 5},
    "worker_config": {
        "min_replicas": 1,
        "max_replicas": 2,
        "idle_timeout": 300,
        "max_concurrent_per_worker": 10,
        "gpu_num": 1,
        "rootfs_size_gb": 20,
        "min_cuda_version": "12.4",
        "request_timeout": 60,
    },
    "ports": [8080],
    "envs": [{"key": "A", "value": "1"}],
    "volumes": [],
    "health_check": {"path": "/healthz", "port": 8080},
    "region_id": "us-ca-6",
    "command": "run",
    "entrypoint": "/sh",
}


def test_an_endpoint_is_shown_as_it_was_given() -> None:
    cloud = Cloud()
    endpoint_id = cloud.post(f"{V2}/endpoints", ENDPOINT).text("id")

    shown = cloud.get(f"{V2}/endpoints/{endpoint_id}").body

    assert isinstance(shown, dict)
    assert shown.items() >= ENDPOINT.items()
    assert shown["status"]["status"] == "deploying"
    assert shown["app_name"] == "worker"
    assert cloud.get(f"{V1}/endpoint", {"id": endpoint_id})["name"] == "worker"


def test_an_endpoint_runs_is_changed_and_deleted() -> None:
    cloud = Cloud()
    path = f"{V2}/endpoints/{cloud.post(f'{V2}/endpoints', ENDPOINT).text('id')}"
    cloud.pass_time(20)

    assert cloud.put(path, {"name": "renamed", "worker_config": {"max_replicas": 7}}).body == {}

    shown = cloud.get(path)
    config = shown["worker_config"]
    assert isinstance(config, dict)
    assert (shown["name"], config["max_replicas"], config["min_replicas"]) == ("renamed", 7, 1)
    assert shown["status"] == {"status": "running", "error": "", "message": ""}
    assert [worker["health"] for worker in shown.rows("workers")] == [True]
    assert cloud.put(path, {"ports": [0]}).status == 400
    assert cloud.delete(path).body == {}
    assert cloud.delete(path).status == 400


def test_endpoints_are_found_by_name() -> None:
    cloud = Cloud()
    cloud.post(f"{V2}/endpoints", ENDPOINT)

    assert cloud.get(f"{V2}/endpoints", {"name": "WORK"})["total"] == 1
    assert cloud.get(f"{V2}/endpoints", {"name": "other"})["total"] == 0
