"""Image prewarming in the simulated cloud, through v1's routes.

Each test begins with the default market and no task.
"""

import pytest

from tests.support.simulated_account import V1, Answer, Cloud

IMAGE = "docker.io/me/huge:1"


def create(cloud: Cloud, **fields: object) -> Answer:
    return cloud.post(f"{V1}/image/prewarm", {"imageUrl": IMAGE, "clusterId": "us-ca-6", **fields})


def only_task(cloud: Cloud) -> dict[str, object]:
    (row,) = cloud.get(f"{V1}/image/prewarm").rows()
    return row


def test_a_task_is_pending_then_running_then_succeeded() -> None:
    cloud = Cloud()
    create(cloud)
    states = [(only_task(cloud)["state"], only_task(cloud)["completeTime"])]

    for seconds in (5, 600):
        cloud.pass_time(seconds)
        states.append((only_task(cloud)["state"], only_task(cloud)["completeTime"] != "0"))

    assert states == [("Pending", "0"), ("Running", False), ("Succeeded", True)]


def test_a_prewarmed_image_is_quick_to_pull_in_its_cluster_only() -> None:
    cloud = Cloud()
    create(cloud)
    assert IMAGE not in cloud.world.clusters["us-ca-6"].cached_images

    cloud.pass_time(600)

    assert IMAGE in cloud.world.clusters["us-ca-6"].cached_images
    assert IMAGE not in cloud.world.clusters["as-sgp-2"].cached_images


def test_a_deleted_task_leaves_nothing_behind_that_would_still_happen() -> None:
    cloud = Cloud()
    task_id = create(cloud)["id"]

    assert cloud.post(f"{V1}/image/prewarm/delete", {"ids": [task_id, "unknown"]}).body == {}

    cloud.pass_time(600)
    assert cloud.get(f"{V1}/image/prewarm")["total"] == 0
    assert IMAGE not in cloud.world.clusters["us-ca-6"].cached_images


def test_a_task_is_shown_with_the_names_of_cluster_and_products() -> None:
    cloud = Cloud()
    create(cloud, productIds=["4090.16c62g", "gone"], note="n")

    task = only_task(cloud)

    assert task["clusterName"] == "US-CA-06 (California)"
    assert task["products"] == [
        {"productId": "4090.16c62g", "productName": "RTX 4090 24GB"},
        {"productId": "gone", "productName": ""},
    ]
    assert (task["imageName"], task["imageUrl"], task["note"]) == ("huge:1", IMAGE, "n")
    assert isinstance(task["imageSize"], str)


def test_the_note_can_be_edited() -> None:
    cloud = Cloud()
    task_id = create(cloud)["id"]

    assert cloud.post(f"{V1}/image/prewarm/edit", {"id": task_id, "note": "new"}).body == {}
    assert only_task(cloud)["note"] == "new"
    assert cloud.post(f"{V1}/image/prewarm/edit", {"id": "unknown", "note": "new"}).status == 400


def test_the_quota_counts_tasks_and_is_kept() -> None:
    cloud = Cloud()
    for number in range(20):
        assert create(cloud, imageUrl=f"image:{number}").status == 200

    refused = create(cloud)

    assert (refused.status, refused.reason) == (400, "IMAGE_PREWARM_NUM_LIMIT")
    assert cloud.get(f"{V1}/image/prewarm/quota").body == {"total": 20, "limit": 20, "perImageSize": 100}


@pytest.mark.parametrize(
    "fields",
    [
        {"imageUrl": ""},
        {"imageUrl": "x" * 501},
        {"clusterId": ""},
        {"clusterId": "nowhere"},
        {"repositoryAuth": "unknown"},
        {"note": "x" * 256},
    ],
)
def test_a_task_that_cannot_be_is_refused(fields: dict[str, object]) -> None:
    cloud = Cloud()

    assert create(cloud, **fields).status == 400
    assert cloud.get(f"{V1}/image/prewarm")["total"] == 0


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"state": "Pending"}, 1),
        ({"state": "Failed"}, 0),
        ({"clusterId": "us-ca-6"}, 1),
        ({"clusterId": "as-sgp-2"}, 0),
        ({"name": "HUGE"}, 1),
        ({"name": "tiny"}, 0),
    ],
)
def test_tasks_are_filtered(query: dict[str, str], found: int) -> None:
    cloud = Cloud()
    create(cloud)

    assert cloud.get(f"{V1}/image/prewarm", query)["total"] == found


def test_an_unknown_state_in_the_filter_is_refused() -> None:
    assert Cloud().get(f"{V1}/image/prewarm", {"state": "pending"}).status == 400
