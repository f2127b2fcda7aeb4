"""v1 serverless endpoints: limits, list, get, create, update, delete.

Deleting sends the endpoint's id under the name `name`. Several numbers are written as strings, as documented.
"""

from dataclasses import replace

from ostler.simulator.account.endpoint import (
    LIMITS,
    Endpoint,
    HealthCheck,
    Mount,
    Policy,
    Workers,
    checked,
)
from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.kinds import (
    ENDPOINTS,
    REGISTRY_AUTHS,
    STORAGES,
    find_owned,
    forget,
    keep,
    listed_of,
)
from ostler.simulator.account.paging import numbered_page
from ostler.simulator.account.paths import V1
from ostler.simulator.face import Call, Route
from ostler.simulator.refusal import Refusal, bad_parameter
from ostler.simulator.world import World


def deploy(world: World, account: str, wanted: Endpoint) -> Endpoint:
    """Make a new endpoint."""
    endpoint = replace(wanted, id=world.new_id(ENDPOINTS.name), account=account, created_at=int(world.now))
    return redeploy(world, endpoint)


def redeploy(world: World, changed: Endpoint) -> Endpoint:
    """Keep an endpoint in its new form; what it names must exist."""
    if changed.product_id not in world.products:
        raise Refusal(400, reason="SERVERLESS_PRODUCT_NOT_FOUND", message="serverless product not found")
    if changed.cluster_id and changed.cluster_id not in world.clusters:
        raise bad_parameter(message=f"invalid clusterID: there is no cluster {changed.cluster_id!r}")
    if changed.registry_auth_id:
        find_owned(world, REGISTRY_AUTHS, changed.account, changed.registry_auth_id)
    for mount in changed.mounts:
        if mount.kind == "network":
            find_owned(world, STORAGES, changed.account, mount.id)
    return keep(world, ENDPOINTS, checked(changed))


def undeploy(world: World, account: str, endpoint_id: str) -> None:
    """Delete an endpoint; a second time it is missing."""
    forget(world, ENDPOINTS, find_owned(world, ENDPOINTS, account, endpoint_id))


def _limit(_world: World, _call: Call) -> object:
    return LIMITS


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    found = listed_of(world, ENDPOINTS, call.account)
    page = numbered_page(found, query.number("pageNum"), query.number("pageSize") or len(found))
    return {
        "endpoints": [_endpoint_json(endpoint, int(world.now)) for endpoint in page],
        "total": len(found),
    }


def _get(world: World, call: Call) -> object:
    return _endpoint_json(find_owned(world, ENDPOINTS, call.account, call.first("id")), int(world.now))


def _create(world: World, call: Call) -> object:
    wanted = _parsed(Fields(call.body).child("endpoint"), Endpoint())
    return {"id": deploy(world, call.account, wanted).id}


def _update(world: World, call: Call) -> object:
    fields = Fields(call.body)
    present = find_owned(world, ENDPOINTS, call.account, fields.text("id"))
    redeploy(world, _parsed(fields, present))
    return {}


def _delete(world: World, call: Call) -> object:
    undeploy(world, call.account, Fields(call.body).text("name"))
    return {}


def _parsed(fields: Fields, base: Endpoint) -> Endpoint:
    """Return the endpoint that a request describes; what it leaves out stays as it is."""
    image, policy = fields.child("image"), fields.child("policy")
    products = fields.children("products")
    changed = replace(
        base,
        name=fields.text("name", default=base.name),
        app_name=fields.text("appName", default=base.app_name or fields.text("name")),
        image=image.text("image", default=base.image),
        registry_auth_id=image.text("authId", default=base.registry_auth_id),
        command=image.text("command", default=base.command),
        product_id=products[0].text("id") if products else base.product_id,
        cluster_id=fields.text("clusterID", default=base.cluster_id),
        rootfs_gb=fields.number("rootfsSize", default=base.rootfs_gb),
        workers=_parsed_workers(fields.child("workerConfig"), base.workers),
        policy=Policy(
            policy.text("type", default=base.policy.kind), policy.number("value", default=base.policy.value)
        ),
        health=HealthCheck(fields.child("healthy").text("path", default=base.health.path), base.health.port),
    )
    return _parsed_lists(fields, changed)


def _parsed_workers(fields: Fields, base: Workers) -> Workers:
    return Workers(
        least=fields.number("minNum", default=base.least),
        most=fields.number("maxNum", default=base.most),
        idle_timeout_s=fields.number("freeTimeout", default=base.idle_timeout_s),
        most_concurrent=fields.number("maxConcurrent", default=base.most_concurrent),
        gpus=fields.number("gpuNum", default=base.gpus),
        request_timeout_s=fields.number("requestTimeout", default=base.request_timeout_s),
        min_cuda_version=fields.text("cudaVersion", default=base.min_cuda_version),
    )


def _parsed_lists(fields: Fields, base: Endpoint) -> Endpoint:
    mounts = tuple(
        Mount(
            item.text("type", default="local"), item.text("id"), item.number("size"), item.text("mountPath")
        )
        for item in fields.children("volumeMounts")
    )
    envs = tuple((item.text("key"), item.text("value")) for item in fields.children("envs"))
    ports = tuple(item.number("port", (1, 65_535)) for item in fields.children("ports"))
    return replace(
        base,
        mounts=mounts if fields.has("volumeMounts") else base.mounts,
        envs=envs if fields.has("envs") else base.envs,
        ports=ports if fields.has("ports") else base.ports,
    )


def _endpoint_json(endpoint: Endpoint, now: int) -> dict[str, object]:
    return {
        "id": endpoint.id,
        "name": endpoint.name,
        "appName": endpoint.app_name,
        "state": {"state": endpoint.state_at(now), "error": "", "message": ""},
        "url": endpoint.url,
        "workerConfig": {
            "minNum": endpoint.workers.least,
            "maxNum": endpoint.workers.most,
            "freeTimeout": str(endpoint.workers.idle_timeout_s),
            "maxConcurrent": str(endpoint.workers.most_concurrent),
            "gpuNum": endpoint.workers.gpus,
            "cudaVersion": endpoint.workers.min_cuda_version,
            "requestTimeout": endpoint.workers.request_timeout_s,
        },
        "policy": {"type": endpoint.policy.kind, "value": str(endpoint.policy.value)},
        "image": {
            "image": endpoint.image,
            "authId": endpoint.registry_auth_id,
            "command": endpoint.command,
        },
        "rootfsSize": endpoint.rootfs_gb,
        "volumeMounts": [
            {"type": mount.kind, "id": mount.id, "size": mount.size_gb, "mountPath": mount.mount_path}
            for mount in endpoint.mounts
        ],
        "envs": [{"key": key, "value": value} for key, value in endpoint.envs],
        "ports": [{"port": str(port)} for port in endpoint.ports],
        "workers": [_worker_json(worker_id) for worker_id in endpoint.worker_ids(now)],
        "products": [{"id": endpoint.product_id}],
        "healthy": _health_json(endpoint.health),
        "clusterID": endpoint.cluster_id,
        "log": "",
    }


def _worker_json(worker_id: str) -> dict[str, object]:
    state = {"state": "running", "error": "", "message": ""}
    return {"id": worker_id, "state": state, "log": "", "metrics": "", "healthy": True}


def _health_json(health: HealthCheck) -> dict[str, object]:
    return {
        "path": health.path,
        "initialDelay": 0,
        "period": 10,
        "timeout": 5,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


ROUTES = (
    Route("GET", f"{V1}/endpoint/limit", _limit),
    Route("GET", f"{V1}/endpoints", _list),
    Route("GET", f"{V1}/endpoint", _get),
    Route("POST", f"{V1}/endpoint/create", _create),
    Route("POST", f"{V1}/endpoint/update", _update),
    Route("POST", f"{V1}/endpoint/delete", _delete),
)
