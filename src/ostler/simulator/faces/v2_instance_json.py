"""How v2 shows an instance: nested, in snake case; instants and memory are strings, as recorded live.

Nothing here tells of a spot instance's reclaim: that is to be read through v1.
"""

from ostler.simulator.account.identity import owner_uuid
from ostler.simulator.account.kinds import WEB_TERMINALS
from ostler.simulator.account.web_terminal import WebTerminal
from ostler.simulator.durations import MONTH_S
from ostler.simulator.faces.instance_json import endpoint_of, page_of, ssh_command_of
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.status import CONNECTED
from ostler.simulator.world import World

MODE_NAMES = {Mode.ON_DEMAND: "postpaid", Mode.MONTHLY: "prepaid", Mode.SPOT: "spot"}


def row_json(world: World, instance: Instance) -> dict[str, object]:
    """Return an instance as a list shows it."""
    return _body(world, instance)


def instance_json(world: World, instance: Instance) -> dict[str, object]:
    """Return an instance as it is shown by itself: with the ways into it."""
    return _body(world, instance) | {"tools": _tools_json(world, instance)}


def _body(world: World, instance: Instance) -> dict[str, object]:
    return {
        "id": instance.id,
        "name": instance.name,
        "product_id": instance.product_id,
        "billing": _billing_json(instance),
        "image": instance.image_url,
        "registry_auth_id": instance.image_auth_id,
        "entrypoint": instance.entrypoint,
        "command": instance.command,
        "envs": [{"key": env.key, "value": env.value} for env in instance.envs],
        "ports": [
            {
                "port": port.port,
                "protocol": port.type,
                "endpoint": endpoint_of(world, instance, port.port, port.type),
            }
            for port in instance.ports
        ],
        "resource_specs": _resource_json(world, instance),
        "volumes": [
            {"type": volume.type, "id": volume.id, "size": volume.size_gb, "mount_point": volume.mount_path}
            for volume in instance.volumes
        ],
        "region": instance.cluster_id,
        "auto_migrate": {
            "enabled": instance.auto_migrate,
            "include_system_disk": instance.auto_migrate_system_disk,
        },
        "created_at": _instant(instance.created_at),
        "last_started_at": _instant(instance.last_started_at),
        "last_stopped_at": _instant(instance.last_stopped_at),
        "status": {
            "status": instance.status,
            "error": instance.error.state,
            "message": instance.error.message,
        },
        "member_id": "",
        "owner_id": owner_uuid(instance.account),
        "region_version": "v2",
        "network": {"id": instance.network_id, "ip": instance.network_ip},
        "type": instance.kind,
    }


def _resource_json(world: World, instance: Instance) -> dict[str, object]:
    product = world.products[instance.product_id]
    return {
        "rootfs_size_gb": instance.rootfs_gb,
        "gpu_num": instance.gpu_num if instance.kind == "gpu" else 0,
        "cpu_num": product.cpus * instance.gpu_num,
        "memory_gb": str(product.memory_gb * instance.gpu_num),
        "gpu_ids": list(instance.gpu_ids),
    }


def _billing_json(instance: Instance) -> dict[str, object]:
    billing: dict[str, object] = {"mode": MODE_NAMES[instance.mode]}
    if instance.mode is Mode.MONTHLY:
        billing["prepaid"] = {
            "months": max(1, round((instance.ends_at - instance.created_at) / MONTH_S)),
            "end_time": _instant(instance.ends_at),
            "auto_renew": {
                "enabled": instance.auto_renew,
                "months": instance.auto_renew_months,
                "status": "active" if instance.auto_renew else "inactive",
            },
        }
    return billing


def _tools_json(world: World, instance: Instance) -> dict[str, object]:
    runs = instance.status in CONNECTED
    password = instance.ssh_password if runs else ""
    jupyter = next((tool for tool in instance.tools if tool.name.casefold() == "jupyter"), None)
    terminal = world.rows(WEB_TERMINALS).get(instance.id, WebTerminal(instance.id))
    return {
        "ssh": {
            "command": ssh_command_of(world, instance),
            "password": password,
            "username": "root",
        },
        "jupyter": {
            "endpoint": "" if jupyter is None else endpoint_of(world, instance, jupyter.port, "http"),
            "enabled": jupyter is not None,
            "port": 0 if jupyter is None else jupyter.port,
        },
        "web_terminal": {
            "endpoint": _terminal(world, instance) if runs and terminal.is_enabled else "",
            "enabled": terminal.is_enabled,
            "username": "root",
            "password": password if terminal.is_enabled else "",
        },
        "log": {
            "instance_endpoint": page_of(world, instance, "logs/instance") if runs else "",
            "system_endpoint": page_of(world, instance, "logs/system") if runs else "",
        },
    }


def _terminal(world: World, instance: Instance) -> str:
    page = page_of(world, instance, "terminal")
    return page.replace("https://", "wss://")  # on loopback it is a page, as in v1


def _instant(at: float) -> str:
    return str(int(at))
