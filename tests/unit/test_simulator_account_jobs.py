"""Jobs of the simulated cloud through v1's routes: saving an instance as an image, and breaking off.

Migrations are jobs too; their beginning and end are tested with the verbs.
"""

import pytest

from ostler.simulator.account.image import saved_images, split_tag
from ostler.simulator.job import Job, JobState, JobType
from ostler.simulator.status import Status
from tests.support.simulated_account import V1, Answer, Cloud, put_instance

INSTANCE = "a" * 16


def save(cloud: Cloud, **fields: object) -> Answer:
    return cloud.post(f"{V1}/job/save/image", {"instanceId": INSTANCE, "image": "me/app:v1", **fields})


def only_job(cloud: Cloud) -> dict[str, object]:
    (row,) = cloud.get(f"{V1}/jobs").rows("jobs")
    return row


def state_of(cloud: Cloud) -> object:
    state = only_job(cloud)["state"]
    assert isinstance(state, dict)
    return state["state"]


@pytest.fixture
def cloud() -> Cloud:
    cloud = Cloud()
    put_instance(cloud, INSTANCE, Status.RUNNING)
    return cloud


def test_a_saved_image_runs_and_then_succeeds(cloud: Cloud) -> None:
    job_id = save(cloud).text("jobId")
    assert len(job_id) == 16

    cloud.pass_time(20)
    assert state_of(cloud) == "running"

    cloud.pass_time(600)
    assert state_of(cloud) == "success"
    assert only_job(cloud)["Id"] == job_id
    assert int(str(only_job(cloud)["updateAt"])) > int(str(only_job(cloud)["createdAt"]))


def test_the_instance_names_the_job_and_takes_no_orders_until_it_ends(cloud: Cloud) -> None:
    save(cloud)

    shown = cloud.get(f"{V1}/gpu/instance", {"instanceId": INSTANCE})
    assert [job["type"] for job in shown.rows("jobs")] == ["saveImage"]
    assert cloud.post(f"{V1}/gpu/instance/stop", {"instanceId": INSTANCE}).status == 400

    cloud.pass_time(600)
    assert cloud.post(f"{V1}/gpu/instance/stop", {"instanceId": INSTANCE}).status == 200


def test_a_job_is_broken_off_and_frees_its_instance(cloud: Cloud) -> None:
    job_id = save(cloud)["jobId"]

    answer = cloud.post(f"{V1}/job/break", {"jobId": job_id})

    assert answer.body == {"jobId": job_id}
    assert state_of(cloud) == "break"
    assert cloud.post(f"{V1}/gpu/instance/stop", {"instanceId": INSTANCE}).status == 200


def test_a_migration_cannot_be_broken_off(cloud: Cloud) -> None:
    cloud.post(f"{V1}/gpu/instance/migrate", {"instanceId": INSTANCE})
    job = only_job(cloud)

    answer = cloud.post(f"{V1}/job/break", {"jobId": job["Id"]})

    assert job["type"] == "instanceMigrate"
    assert (answer.status, answer.reason) == (400, "MIGRATION_JOB_NOT_BREAKABLE")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"instanceId": ""}, 400),
        ({"instanceId": "unknown"}, 404),
        ({"image": ""}, 400),
        ({"image": "x" * 4096}, 400),
        ({"registryAuthId": "unknown"}, 400),
    ],
)
def test_a_saving_that_cannot_be_is_refused(cloud: Cloud, fields: dict[str, object], status: int) -> None:
    assert save(cloud, **fields).status == status
    assert cloud.get(f"{V1}/jobs")["total"] == 0


def test_an_instance_that_is_starting_cannot_be_saved(cloud: Cloud) -> None:
    put_instance(cloud, "b" * 16, Status.STARTING)

    assert save(cloud, instanceId="b" * 16)["message"] == "invalid state change"


def test_a_job_of_somebody_else_does_not_exist(cloud: Cloud) -> None:
    job_id = save(cloud)["jobId"]
    other = Cloud(cloud.world, "sk_other")

    assert other.get(f"{V1}/jobs")["total"] == 0
    assert other.post(f"{V1}/job/break", {"jobId": job_id}).status == 400
    assert other.post(f"{V1}/job/save/image", {"instanceId": INSTANCE, "image": "i"}).status == 404


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, 1),
        ({"state": "pulling"}, 1),
        ({"state": "success"}, 0),
        ({"type": "saveImage"}, 1),
        ({"type": "instanceMigrate"}, 0),
        ({"jobId": "other"}, 0),
        ({"startTime": "1785780950"}, 1),
        ({"startTime": "1785780951"}, 0),
        ({"endTime": "1785780949"}, 0),
        ({"endTime": "1785780950"}, 1),
        ({"startTime": "0", "endTime": "0"}, 1),
    ],
)
def test_jobs_are_filtered(cloud: Cloud, query: dict[str, str], found: int) -> None:
    save(cloud)

    assert cloud.get(f"{V1}/jobs", query)["total"] == found


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("redis", ("redis", "latest")),
        ("me/app:v1", ("me/app", "v1")),
        ("host:5000/me/app", ("host:5000/me/app", "latest")),
        ("host:5000/me/app:v1", ("host:5000/me/app", "v1")),
    ],
)
def test_an_images_tag_is_told_from_its_registrys_port(image: str, parts: tuple[str, str]) -> None:
    assert split_tag(image) == parts


def test_only_what_was_saved_and_not_forgotten_is_an_image() -> None:
    def job(job_id: str, image: str, state: JobState, kind: JobType = JobType.SAVE_IMAGE) -> Job:
        return Job(job_id, "me", INSTANCE, kind, 0.0, state=state, image=image)

    jobs = [
        job("1", "app:v1", JobState.SUCCESS),
        job("2", "app:v2", JobState.SUCCESS),
        job("3", "app:v3", JobState.RUNNING),
        job("4", "app:v4", JobState.SUCCESS),
        job("5", "", JobState.SUCCESS, JobType.MIGRATE),
    ]

    (image,) = saved_images(jobs, forgotten={"4"})

    assert image.tags == (("v1", "app:v1"), ("v2", "app:v2"))
    assert image.job_ids == ("1", "2")
