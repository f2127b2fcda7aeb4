"""v2 instances: create, list, get, delete. They are the same instances as in v1, in other words.

What v2 adds to a create: a list of regions to try in their order, moving off failing nodes, and a fixed
address in a private network.
"""

from ostler.simulator import creation, verbs
from ostler.simulator.account.fields import Fields, asked, words
from ostler.simulator.account.paging import asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.listed import shown_of
from ostler.simulator.faces.order_json import (
    COMMAND,
    ID,
    MOST_ENVS,
    MOST_PORTS,
    MOST_STORAGES,
    PORT,
    PORT_TYPES,
    check_count,
    envs_of,
    once_each,
    port_of,
    tool_port_of,
)
from ostler.simulator.faces.v2_instance_json import MODE_NAMES, instance_json, row_json
from ostler.simulator.fleet import Grouped, Search, Wanted
from ostler.simulator.instance import ExposedPort, Instance, Tool, VolumeMount
from ostler.simulator.order import Order
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.world import World

MODES = {name: mode for mode, name in MODE_NAMES.items()}
ROOTFS_GB = (1, 6144)
GPUS = (1, 8)
MONTHS = (1, 120)
STATUS_LENGTH = (0, 63)


def _list(world: World, call: Call) -> object:
    found = shown_of(world, call.account, _wanted(call))
    page = asked_page(found, _place, asked(call.query))
    return page_json(page, lambda instance: row_json(world, instance))


def _place(instance: Instance) -> str:
    return f"{instance.number:012d}"


def _wanted(call: Call) -> Wanted:
    query = asked(call.query)
    status, mode = query.text("status", STATUS_LENGTH), query.word("billing_mode", ("", *MODES))
    among: dict[Grouped, frozenset[str]] = {
        "status": frozenset({status} if status else ()),
        "cluster_id": frozenset(words(call.query.get("regions", ()))),
        "mode": frozenset({str(MODES[mode])} if mode else ()),
    }
    narrowing = {name: values for name, values in among.items() if values}
    word = query.text("name")
    return Wanted(narrowing, Search(word, in_ids_too=True) if word else None)


def _get(world: World, call: Call) -> object:
    return instance_json(world, verbs.find(world, call.account, call.path["id"]))


def _create(world: World, call: Call) -> object:
    return {"id": creation.create(world, order_of(Fields(call.body), call.account)).id}


def _delete(world: World, call: Call) -> object:
    verbs.delete(world, verbs.find(world, call.account, call.path["id"]))
    return {}


def order_of(fields: Fields, account: str) -> Order:
    """Return the order that a v2 body asks for, or refuse the first field that breaks a limit."""
    kind = fields.word("type", tuple(MOST_ENVS), "gpu")
    billing, resource = fields.child("billing"), fields.child("resource")
    prepaid, network = billing.child("prepaid"), fields.child("network")
    auto_renew, auto_migrate = prepaid.child("auto_renew"), fields.child("auto_migrate")
    ports, tools = ports_of(fields), _tools(fields.child("tools"))
    check_count(len(ports) + len(tools))
    if not fields.has("resource"):
        raise bad_parameter(message="invalid resource: value is required")
    return Order(
        account=account,
        product_id=fields.text("product_id", ID),
        image_url=fields.text("image", (1, 500)),
        name=fields.text("name", (1, 255)),
        kind=kind,
        mode=MODES[billing.word("mode", tuple(MODES))],
        months=prepaid.number("months", MONTHS, 1),
        gpu_num=resource.number("gpu_num", GPUS) if kind == "gpu" else 1,
        rootfs_gb=resource.number("rootfs_size_gb", ROOTFS_GB),
        cluster_ids=fields.texts("candidate_regions"),
        image_auth_id=fields.text("registry_auth_id", (0, 255)),
        command=fields.text("command", COMMAND),
        entrypoint=fields.text("entrypoint", COMMAND),
        envs=envs_of(fields, MOST_ENVS[kind]),
        ports=ports,
        tools=tools,
        volumes=_volumes(fields),
        network_id=network.text("id"),
        network_ip=network.text("ip"),
        min_cuda_version=resource.text("min_cuda_version"),
        auto_renew=auto_renew.flag("enabled"),
        auto_renew_months=auto_renew.number("months", (0, 12)),
        auto_migrate=auto_migrate.flag("enabled", default=True),
        auto_migrate_system_disk=auto_migrate.flag("include_system_disk", default=True),
    )


def ports_of(fields: Fields) -> tuple[ExposedPort, ...]:
    """Return the ports of a body."""
    return once_each(
        [
            port_of("ports", port.number("port", PORT), port.word("protocol", PORT_TYPES))
            for port in fields.children("ports", MOST_PORTS)
        ]
    )


def _tools(fields: Fields) -> tuple[Tool, ...]:
    jupyter = fields.child("jupyter")
    if not jupyter.flag("enabled"):
        return ()
    return (Tool("Jupyter", tool_port_of(jupyter, 8888), jupyter.word("protocol", PORT_TYPES, "http")),)


def _volumes(fields: Fields) -> tuple[VolumeMount, ...]:
    return tuple(
        VolumeMount(volume.text("id", ID), volume.text("mount_point", (1, 4_095), "/network"))
        for volume in fields.children("volumes", MOST_STORAGES)
        if volume.word("type", ("network", "local"), "network") == "network"
    )


ROUTES = (
    Route("GET", f"{V2}/instances", _list),
    Route("POST", f"{V2}/instances", _create),
    Route("GET", f"{V2}/instances/{{id}}", _get),
    Route("DELETE", f"{V2}/instances/{{id}}", _delete),
)
