"""How v1 shows an instance: numbers as decimal strings, instants as unix seconds in strings, and live types.

A list's rows lack the connection components and the endpoints; a single instance has everything.
"""

from ostler.simulator.accounting import DISK_PRICE_PER_GB_DAY, FREE_DISK_GB
from ostler.simulator.doors import vendor_proxy, vendor_web_endpoint
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.money import whole_seconds
from ostler.simulator.status import CONNECTED, Status
from ostler.simulator.world import World

NO_SUBSCRIPTION = "-1"


def row_json(world: World, instance: Instance) -> dict[str, object]:
    """Return an instance as a list shows it."""
    row = _body(world, instance)
    row["portMappings"] = [{"port": port.port, "type": port.type} for port in instance.ports]
    return row


def instance_json(world: World, instance: Instance) -> dict[str, object]:
    """Return an instance as it is shown by itself."""
    body = _body(world, instance)
    body["portMappings"] = [
        {"port": port.port, "endpoint": endpoint_of(world, instance, port.port, port.type), "type": port.type}
        for port in instance.ports
    ]
    return body | _connections(world, instance)


def endpoint_of(world: World, instance: Instance, port: int, kind: str) -> str:
    """Return where a port is reached; nowhere until the instance runs."""
    if instance.status not in CONNECTED:
        return ""
    doors = world.doors
    if kind == "http":
        if doors is None:
            return vendor_web_endpoint(instance.id, port, instance.cluster_id)
        return doors.web_endpoint(instance.id, port, instance.app.mood)
    if doors is None:
        return f"{vendor_proxy(instance.cluster_id)}:{instance.ssh_port + 1 + port % 1000}"
    return doors.tcp_endpoint(instance.app.mood)


def ssh_command_of(world: World, instance: Instance) -> str:
    """Return the command that opens a shell."""
    if instance.status not in CONNECTED:
        return ""
    host, port = vendor_proxy(instance.cluster_id), str(instance.ssh_port)
    if world.doors is not None:
        host, _, port = world.doors.tcp.rpartition(":")
    return f"ssh -p {port} root@{host}"


def _instant(at: float) -> str:
    return str(int(at))


def _body(world: World, instance: Instance) -> dict[str, object]:
    product = world.products[instance.product_id]
    in_use_s = instance.use_seconds
    if instance.status is Status.RUNNING:
        in_use_s += whole_seconds(instance.last_started_at, world.now)
    return {
        "id": instance.id,
        "name": instance.name,
        "clusterId": instance.cluster_id,
        "clusterName": world.clusters[instance.cluster_id].name,
        "status": instance.status,
        "statusError": {"state": instance.error.state, "message": instance.error.message},
        "imageUrl": instance.image_url,
        "imageAuthId": instance.image_auth_id,
        "command": instance.command,
        "entrypoint": instance.entrypoint,
        "cpuNum": str(product.cpus * instance.gpu_num),
        "memory": str(product.memory_gb * instance.gpu_num),
        "gpuNum": str(instance.gpu_num if instance.kind == "gpu" else 0),
        "kind": instance.kind,
        "productId": product.id,
        "productName": product.name,
        "rootfsSize": instance.rootfs_gb,
        "gpuIds": list(instance.gpu_ids),
        "volumeMounts": [
            {
                "type": volume.type,
                "size": str(volume.size_gb),
                "id": volume.id,
                "mountPath": volume.mount_path,
            }
            for volume in instance.volumes
        ],
        "envs": [{"key": env.key, "value": env.value} for env in instance.envs],
        "network": {"id": instance.network_id, "ip": instance.network_ip},
        "jobs": [{"id": job_id, "type": kind} for job_id, kind in instance.jobs.items()],
        "useTime": str(in_use_s),
    } | _billing(world, instance)


def _billing(world: World, instance: Instance) -> dict[str, object]:
    is_monthly = instance.mode is Mode.MONTHLY
    return {
        "billingMode": instance.mode,
        "endTime": _instant(instance.ends_at) if is_monthly else NO_SUBSCRIPTION,
        "autoRenew": instance.auto_renew,
        "autoRenewMonth": instance.auto_renew_months,
        "autoMigrateOpen": instance.auto_migrate,
        "autoMigrateSystemDisk": instance.auto_migrate_system_disk,
        "spotStatus": instance.spot_status,
        "spotReclaimTime": _instant(instance.spot_reclaim_at),
        "createdAt": _instant(instance.created_at),
        "lastStartedAt": _instant(instance.last_started_at),
        "lastStoppedAt": _instant(instance.last_stopped_at),
        "instancePrice": str(instance.price_per_hour),
        "localStoragePrice": str(DISK_PRICE_PER_GB_DAY),
        "exitedLocalStoragePrice": str(DISK_PRICE_PER_GB_DAY),
        "diskSize": 0,
        "freeStorageSize": FREE_DISK_GB,
        "keepDataDay": world.durations.keep_data_days,
        "releaseDataAt": _instant(instance.release_data_at),
        "templateId": instance.template_id,
        "version": "v2",
        "isApiInstance": True,
    }


def _connections(world: World, instance: Instance) -> dict[str, object]:
    runs = instance.status in CONNECTED
    password = instance.ssh_password if runs else ""
    jupyter = next((tool for tool in instance.tools if tool.name.casefold() == "jupyter"), None)
    jupyter_port = jupyter.port if jupyter is not None else 0
    return {
        "connectComponentSSH": {
            "sshCommand": ssh_command_of(world, instance),
            "password": password,
            "isRunning": runs,
        },
        "connectComponentWebTerminal": {
            "address": page_of(world, instance, "terminal"),
            "username": "root",
            "password": password,
            "isRunning": runs,
        },
        "connectComponentJupyter": {
            "port": jupyter_port,
            "address": endpoint_of(world, instance, jupyter_port, "http") if jupyter is not None else "",
            "isRunning": runs and jupyter is not None,
        },
        "connectComponentLog": {
            "systemLogAddress": page_of(world, instance, "logs/system"),
            "instanceLogAddress": page_of(world, instance, "logs/instance"),
            "isRunning": runs,
        },
    }


def page_of(world: World, instance: Instance, page: str) -> str:
    """Return where a log or the terminal of an instance is to be seen."""
    if world.doors is None:
        return f"https://{page.partition('/')[0]}.{instance.cluster_id}.gpu-instance.novita.ai/{instance.id}"
    return f"http://{world.doors.http}/{page}/{instance.id}"
