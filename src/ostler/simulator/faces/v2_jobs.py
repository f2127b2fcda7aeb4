"""v2 jobs and the images they save: list, get, stop a job, save an instance's image, list and delete images.

Stopping a job is a POST, unlike the lifecycle verbs of v2, which are PUTs.
"""

from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.image import (
    IMAGE_LENGTH,
    INSTANCE_ID_LENGTH,
    ForgottenImage,
    SavedImage,
    saved_images,
)
from ostler.simulator.account.kinds import FORGOTTEN_IMAGES, find_owned, listed_of, owned_by
from ostler.simulator.account.paging import age_place, asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.jobs import begin_saving
from ostler.simulator.job import JOBS, Job, break_job
from ostler.simulator.refusal import missing
from ostler.simulator.world import World


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    found = [
        job
        for job in sorted(listed_of(world, JOBS, call.account), key=age_place)
        if query.text("type") in {"", job.type}
        and query.text("status") in {"", job.state}
        and query.text("instance_id") in {"", job.instance_id}
    ]
    return page_json(asked_page(found, age_place, query), _job_json)


def _get(world: World, call: Call) -> object:
    return _job_json(find_owned(world, JOBS, call.account, call.path["id"]))


def _stop(world: World, call: Call) -> object:
    break_job(world, find_owned(world, JOBS, call.account, call.path["id"]))
    return {}


def _save_image(world: World, call: Call) -> object:
    fields = Fields(call.body)
    instance_id = fields.text("instance_id", INSTANCE_ID_LENGTH)
    image = fields.text("image", IMAGE_LENGTH)
    job = begin_saving(world, call.account, instance_id, image, fields.text("registry_auth_id"))
    return {"job_id": job.id}


def _job_json(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "type": job.type,
        "envs": [],
        "status": {"status": job.state, "error": job.error, "message": job.error_message},
        "instance_id": job.instance_id,
        "log": "",
        "created_at": str(int(job.created_at)),
        "updated_at": str(int(job.ended_at or job.created_at)),
    }


def _images(world: World, account: str) -> list[SavedImage]:
    return saved_images(owned_by(world, JOBS, account), world.rows(FORGOTTEN_IMAGES))


def _list_images(world: World, call: Call) -> object:
    page = asked_page(_images(world, call.account), lambda image: image.name, asked(call.query))
    return page_json(page, _image_json)


def _delete_image(world: World, call: Call) -> object:
    image = next((each for each in _images(world, call.account) if each.id == call.path["id"]), None)
    if image is None:
        raise missing(what="image")
    for job_id in image.job_ids:
        world.put(FORGOTTEN_IMAGES, job_id, ForgottenImage(job_id, call.account))
    return {}


def _image_json(image: SavedImage) -> dict[str, object]:
    return {
        "id": image.id,
        "name": image.name,
        "image": image.tags[-1][1],
        "tags": [{"tag": tag, "image": whole} for tag, whole in image.tags],
    }


ROUTES = (
    Route("GET", f"{V2}/jobs", _list),
    Route("POST", f"{V2}/jobs/save-image", _save_image),
    Route("GET", f"{V2}/jobs/{{id}}", _get),
    Route("POST", f"{V2}/jobs/{{id}}/stop", _stop),
    Route("GET", f"{V2}/images", _list_images),
    Route("DELETE", f"{V2}/images/{{id}}", _delete_image),
)
