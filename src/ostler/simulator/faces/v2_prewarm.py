"""v2 image prewarming: the same tasks as in v1.

Deleting is a batch: a DELETE of the collection with the ids in a JSON body.
"""

from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.kinds import PREWARM_TASKS, find_owned, listed_of
from ostler.simulator.account.paging import age_place, asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.account.prewarm import LONG_IMAGE_LENGTH, NOTE_LENGTH, PrewarmState, PrewarmTask
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.prewarm import begin_prewarm, forget_prewarms
from ostler.simulator.world import World

STATUSES = ("", *(state.lower() for state in PrewarmState), "failed")


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    status, now = query.word("status", STATUSES), int(world.now)
    found = [
        task
        for task in sorted(listed_of(world, PREWARM_TASKS, call.account), key=age_place)
        if status in {"", task.state_at(now).lower()}
        and query.text("region_id") in {"", task.cluster_id}
        and query.text("name").casefold() in task.image.casefold()
    ]
    return page_json(asked_page(found, age_place, query), lambda task: _task_json(task, now))


def _get(world: World, call: Call) -> object:
    return _task_json(find_owned(world, PREWARM_TASKS, call.account, call.path["id"]), int(world.now))


def _create(world: World, call: Call) -> object:
    fields = Fields(call.body)
    wanted = PrewarmTask(
        id="",
        account=call.account,
        image=fields.text("image", LONG_IMAGE_LENGTH),
        cluster_id=fields.text("region_id", (1, 255)),
        registry_auth_id=fields.text("registry_auth_id"),
        product_ids=fields.texts("product_ids"),
        note=fields.text("note", NOTE_LENGTH),
        created_at=0,
    )
    return {"task_id": begin_prewarm(world, wanted).id}


def _delete(world: World, call: Call) -> object:
    forget_prewarms(world, call.account, Fields(call.body).texts("task_ids"))
    return {}


def _task_json(task: PrewarmTask, now: int) -> dict[str, object]:
    state = task.state_at(now)
    return {
        "task_id": task.id,
        "name": task.image.rpartition("/")[2],
        "image": task.image,
        "region_id": task.cluster_id,
        "product_ids": list(task.product_ids),
        "image_size": str(task.image_bytes),
        "created_at": str(task.created_at),
        "completed_at": str(task.completed_at if state is PrewarmState.SUCCEEDED else 0),
        "status": {"status": state.lower(), "error": "", "message": ""},
        "registry_auth_id": task.registry_auth_id,
        "note": task.note,
        "reason": [],
    }


ROUTES = (
    Route("GET", f"{V2}/prewarm-tasks", _list),
    Route("POST", f"{V2}/prewarm-tasks", _create),
    Route("DELETE", f"{V2}/prewarm-tasks", _delete),
    Route("GET", f"{V2}/prewarm-tasks/{{id}}", _get),
)
