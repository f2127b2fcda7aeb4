"""v1 jobs: list them, save an instance's image, break a job off.

Migrations are jobs too, but begin and end with their instance; they can only be looked at.
"""

from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.identity import user_number
from ostler.simulator.account.image import IMAGE_LENGTH, INSTANCE_ID_LENGTH
from ostler.simulator.account.kinds import REGISTRY_AUTHS, find_owned, listed_of
from ostler.simulator.account.paging import DEFAULT_PAGE_SIZE, numbered_page
from ostler.simulator.account.paths import V1
from ostler.simulator.face import Call, Route
from ostler.simulator.job import JOBS, Job, break_job
from ostler.simulator.verbs import find, save_image
from ostler.simulator.world import World


def begin_saving(world: World, account: str, instance_id: str, image: str, auth_id: str) -> Job:
    """Start saving an instance as an image."""
    instance = find(world, account, instance_id)
    if auth_id:
        find_owned(world, REGISTRY_AUTHS, account, auth_id)
    return save_image(world, instance, image, auth_id)


def newest_jobs(world: World, account: str) -> list[Job]:
    """Return an account's jobs, newest first."""
    return listed_of(world, JOBS, account)[::-1]


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    first, last = query.number("startTime"), query.number("endTime")
    found = [
        job
        for job in newest_jobs(world, call.account)
        if query.text("jobId") in {"", job.id}
        and query.text("state") in {"", job.state}
        and query.text("type") in {"", job.type}
        and first <= job.created_at
        and (last == 0 or job.created_at <= last)
    ]
    page = numbered_page(found, query.number("pageNum"), query.number("pageSize", default=DEFAULT_PAGE_SIZE))
    return {"jobs": [_job_json(job) for job in page], "total": len(found)}


def _save_image(world: World, call: Call) -> object:
    fields = Fields(call.body)
    instance_id = fields.text("instanceId", INSTANCE_ID_LENGTH)
    image = fields.text("image", IMAGE_LENGTH)
    job = begin_saving(world, call.account, instance_id, image, fields.text("registryAuthId"))
    return {"jobId": job.id}


def _break(world: World, call: Call) -> object:
    job = find_owned(world, JOBS, call.account, Fields(call.body).text("jobId"))
    break_job(world, job)
    return {"jobId": job.id}


def _job_json(job: Job) -> dict[str, object]:
    user = user_number(job.account)
    return {
        "Id": job.id,
        "user": user,
        "type": job.type,
        "envs": [],
        "state": {"state": job.state, "error": job.error, "errorMessage": job.error_message},
        "logAddress": "",
        "createdAt": str(int(job.created_at)),
        "updateAt": str(int(job.ended_at or job.created_at)),
        "deletedTime": "0",
        "instanceId": job.instance_id,
        "maxRetry": 0,
        "timeout": 0,
        "creator": user,
        "uuid": user,
    }


ROUTES = (
    Route("GET", f"{V1}/jobs", _list),
    Route("POST", f"{V1}/job/save/image", _save_image),
    Route("POST", f"{V1}/job/break", _break),
)
