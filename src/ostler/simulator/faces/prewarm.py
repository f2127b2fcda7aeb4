"""v1 image prewarming: quota, list, create, edit, delete.

Listing and creating share one path, and the first page is asked for by `page`, not `pageNum`.
"""

from dataclasses import replace

from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.kinds import (
    PREWARM_TASKS,
    REGISTRY_AUTHS,
    find_owned,
    forget,
    keep,
    listed_of,
    owned_by,
)
from ostler.simulator.account.paging import DEFAULT_PAGE_SIZE, numbered_page
from ostler.simulator.account.paths import V1
from ostler.simulator.account.prewarm import (
    IMAGE_LENGTH,
    LARGEST_IMAGE_GB,
    MOST_TASKS,
    NOTE_LENGTH,
    PrewarmState,
    PrewarmTask,
    check_quota,
)
from ostler.simulator.face import Call, Route
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.world import World


def begin_prewarm(world: World, wanted: PrewarmTask) -> PrewarmTask:
    """Start fetching an image into a cluster; the task comes without its id and time."""
    if wanted.cluster_id not in world.clusters:
        raise bad_parameter(message=f"invalid clusterId: there is no cluster {wanted.cluster_id!r}")
    if wanted.registry_auth_id:
        find_owned(world, REGISTRY_AUTHS, wanted.account, wanted.registry_auth_id)
    check_quota(len(owned_by(world, PREWARM_TASKS, wanted.account)))
    task = replace(wanted, id=world.new_id(PREWARM_TASKS.name), created_at=int(world.now))
    return keep(world, PREWARM_TASKS, task)


def forget_prewarms(world: World, account: str, task_ids: tuple[str, ...]) -> None:
    """Delete tasks; ids that are not there are passed over. The cluster keeps what was fetched."""
    for task in owned_by(world, PREWARM_TASKS, account):
        if task.id in task_ids:
            forget(world, PREWARM_TASKS, task)


def _quota(world: World, call: Call) -> object:
    return {
        "total": len(owned_by(world, PREWARM_TASKS, call.account)),
        "limit": MOST_TASKS,
        "perImageSize": LARGEST_IMAGE_GB,
    }


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    state = query.word("state", ("", *PrewarmState, "Failed"))
    now = int(world.now)
    found = [
        task
        for task in listed_of(world, PREWARM_TASKS, call.account)
        if state in {"", task.state_at(now)}
        and query.text("clusterId") in {"", task.cluster_id}
        and query.text("name").casefold() in task.image.casefold()
    ]
    page = numbered_page(
        found, query.number("page", default=1), query.number("pageSize", default=DEFAULT_PAGE_SIZE)
    )
    return {"data": [_task_json(world, task, now) for task in page], "total": len(found)}


def _create(world: World, call: Call) -> object:
    fields = Fields(call.body)
    wanted = PrewarmTask(
        id="",
        account=call.account,
        image=fields.text("imageUrl", IMAGE_LENGTH),
        cluster_id=fields.text("clusterId", (1, 255)),
        registry_auth_id=fields.text("repositoryAuth"),
        product_ids=fields.texts("productIds"),
        note=fields.text("note", NOTE_LENGTH),
        created_at=0,
    )
    return {"id": begin_prewarm(world, wanted).id}


def _edit(world: World, call: Call) -> object:
    fields = Fields(call.body)
    task = find_owned(world, PREWARM_TASKS, call.account, fields.text("id"))
    keep(world, PREWARM_TASKS, replace(task, note=fields.text("note", NOTE_LENGTH)))
    return {}


def _delete(world: World, call: Call) -> object:
    forget_prewarms(world, call.account, Fields(call.body).texts("ids"))
    return {}


def _task_json(world: World, task: PrewarmTask, now: int) -> dict[str, object]:
    done = task.state_at(now) is PrewarmState.SUCCEEDED
    return {
        "id": task.id,
        "imageName": task.image.rpartition("/")[2],
        "imageUrl": task.image,
        "repositoryAuth": task.registry_auth_id,
        "clusterId": task.cluster_id,
        "clusterName": world.clusters[task.cluster_id].name,
        "products": [
            {"productId": product_id, "productName": _product_name(world, product_id)}
            for product_id in task.product_ids
        ],
        "imageSize": str(task.image_bytes),
        "createTime": str(task.created_at),
        "state": task.state_at(now),
        "completeTime": str(task.completed_at if done else 0),
        "note": task.note,
        "reason": [],
    }


def _product_name(world: World, product_id: str) -> str:
    product = world.products.get(product_id)
    return "" if product is None else product.name


ROUTES = (
    Route("GET", f"{V1}/image/prewarm/quota", _quota),
    Route("GET", f"{V1}/image/prewarm", _list),
    Route("POST", f"{V1}/image/prewarm", _create),
    Route("POST", f"{V1}/image/prewarm/edit", _edit),
    Route("POST", f"{V1}/image/prewarm/delete", _delete),
)
