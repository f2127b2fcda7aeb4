"""v2 serverless endpoints: the same ones as in v1, with numbers as numbers and one product.

Unlike elsewhere in v2, the time of creation is a number.
"""

from dataclasses import replace

from ostler.simulator.account.endpoint import Endpoint, HealthCheck, Mount, Policy, Workers
from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.identity import owner_uuid
from ostler.simulator.account.kinds import ENDPOINTS, find_owned, listed_of
from ostler.simulator.account.paging import age_place, asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.serverless import deploy, redeploy, undeploy
from ostler.simulator.world import World

PORT = (1, 65_535)
STATUSES = {"deploying": "deploying", "serving": "running"}


def _list(world: World, call: Call) -> object:
    query, now = asked(call.query), int(world.now)
    found = [
        endpoint
        for endpoint in sorted(listed_of(world, ENDPOINTS, call.account), key=age_place)
        if query.text("name").casefold() in endpoint.name.casefold()
    ]
    return page_json(asked_page(found, age_place, query), lambda endpoint: _endpoint_json(endpoint, now))


def _get(world: World, call: Call) -> object:
    return _endpoint_json(find_owned(world, ENDPOINTS, call.account, call.path["id"]), int(world.now))


def _create(world: World, call: Call) -> object:
    return {"id": deploy(world, call.account, _parsed(Fields(call.body), Endpoint())).id}


def _update(world: World, call: Call) -> object:
    present = find_owned(world, ENDPOINTS, call.account, call.path["id"])
    redeploy(world, _parsed(Fields(call.body), present))
    return {}


def _delete(world: World, call: Call) -> object:
    undeploy(world, call.account, call.path["id"])
    return {}


def _parsed(fields: Fields, base: Endpoint) -> Endpoint:
    """Return the endpoint that a request describes; what it leaves out stays as it is."""
    policy, health = fields.child("policy"), fields.child("health_check")
    changed = replace(
        base,
        name=fields.text("name", default=base.name),
        app_name=fields.text("app_name", default=base.app_name or fields.text("name")),
        image=fields.text("image", default=base.image),
        registry_auth_id=fields.text("registry_auth_id", default=base.registry_auth_id),
        entrypoint=fields.text("entrypoint", default=base.entrypoint),
        command=fields.text("command", default=base.command),
        product_id=fields.text("product_id", default=base.product_id),
        cluster_id=fields.text("region_id", default=base.cluster_id),
        policy=Policy(
            policy.text("type", default=base.policy.kind), policy.number("value", default=base.policy.value)
        ),
        health=HealthCheck(
            health.text("path", default=base.health.path), health.number("port", default=base.health.port)
        ),
    )
    return _parsed_lists(fields, _sized(fields.child("worker_config"), changed))


def _sized(fields: Fields, base: Endpoint) -> Endpoint:
    workers = base.workers
    return replace(
        base,
        rootfs_gb=fields.number("rootfs_size_gb", default=base.rootfs_gb),
        workers=Workers(
            least=fields.number("min_replicas", default=workers.least),
            most=fields.number("max_replicas", default=workers.most),
            idle_timeout_s=fields.number("idle_timeout", default=workers.idle_timeout_s),
            most_concurrent=fields.number("max_concurrent_per_worker", default=workers.most_concurrent),
            gpus=fields.number("gpu_num", default=workers.gpus),
            request_timeout_s=fields.number("request_timeout", default=workers.request_timeout_s),
            min_cuda_version=fields.text("min_cuda_version", default=workers.min_cuda_version),
        ),
    )


def _parsed_lists(fields: Fields, base: Endpoint) -> Endpoint:
    mounts = tuple(
        Mount(
            item.text("type", default="network"),
            item.text("id"),
            item.number("size"),
            item.text("mount_point"),
        )
        for item in fields.children("volumes")
    )
    envs = tuple((item.text("key"), item.text("value")) for item in fields.children("envs"))
    return replace(
        base,
        mounts=mounts if fields.has("volumes") else base.mounts,
        envs=envs if fields.has("envs") else base.envs,
        ports=fields.numbers("ports", PORT) if fields.has("ports") else base.ports,
    )


def _endpoint_json(endpoint: Endpoint, now: int) -> dict[str, object]:
    workers = endpoint.workers
    return {
        "id": endpoint.id,
        "name": endpoint.name,
        "app_name": endpoint.app_name,
        "status": {"status": STATUSES[endpoint.state_at(now)], "error": "", "message": ""},
        "url": endpoint.url,
        "product_id": endpoint.product_id,
        "worker_config": {
            "min_replicas": workers.least,
            "max_replicas": workers.most,
            "idle_timeout": workers.idle_timeout_s,
            "max_concurrent_per_worker": workers.most_concurrent,
            "gpu_num": workers.gpus,
            "rootfs_size_gb": endpoint.rootfs_gb,
            "min_cuda_version": workers.min_cuda_version,
            "request_timeout": workers.request_timeout_s,
        },
        "policy": {"type": endpoint.policy.kind, "value": endpoint.policy.value},
        "image": endpoint.image,
        "registry_auth_id": endpoint.registry_auth_id,
        "entrypoint": endpoint.entrypoint,
        "command": endpoint.command,
        "volumes": [
            {"id": mount.id, "type": mount.kind, "size": mount.size_gb, "mount_point": mount.mount_path}
            for mount in endpoint.mounts
        ],
        "envs": [{"key": key, "value": value} for key, value in endpoint.envs],
        "ports": list(endpoint.ports),
        "workers": [_worker_json(worker_id) for worker_id in endpoint.worker_ids(now)],
        "health_check": {"path": endpoint.health.path, "port": endpoint.health.port},
        "region_id": endpoint.cluster_id,
        "member_id": "",
        "owner_id": owner_uuid(endpoint.account),
        "created_at": endpoint.created_at,
    }


def _worker_json(worker_id: str) -> dict[str, object]:
    return {
        "id": worker_id,
        "status": {"status": "ready", "error": "", "message": ""},
        "log": "",
        "health": True,
        "drain": False,
    }


ROUTES = (
    Route("GET", f"{V2}/endpoints", _list),
    Route("POST", f"{V2}/endpoints", _create),
    Route("GET", f"{V2}/endpoints/{{id}}", _get),
    Route("PUT", f"{V2}/endpoints/{{id}}", _update),
    Route("DELETE", f"{V2}/endpoints/{{id}}", _delete),
)
