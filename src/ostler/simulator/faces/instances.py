"""v1 instances: create, get, list, and the verbs, each a POST with the id in its body.

Here JSON becomes an order or a verb of the world, and the limits of the cloud's contract are checked; how an
instance looks in answers is in `instance_json.py`.
"""

from collections.abc import Callable

from ostler.simulator import creation, verbs
from ostler.simulator.account.fields import Fields, Span, asked
from ostler.simulator.account.joining import rescreened
from ostler.simulator.account.paths import V1
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.instance_json import instance_json, row_json
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
    order_of,
    port_of,
)
from ostler.simulator.fleet import Grouped, Search, Wanted
from ostler.simulator.instance import Instance, VolumeMount
from ostler.simulator.order import Rebuild
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.status import LEADS_TO, Verb
from ostler.simulator.world import World

MONTHS: Span = (1, 12)
UPGRADE_FIELDS = ("imageUrl", "imageAuthId", "envs", "command", "entrypoint", "save", "networkVolume")
DEFAULT_PAGE_SIZE = 10
LARGEST_PAGE = 10_000


def _create(world: World, call: Call) -> object:
    return {"id": creation.create(world, order_of(Fields(call.body), call.account)).id}


def _get(world: World, call: Call) -> object:
    return instance_json(world, verbs.find(world, call.account, call.first("instanceId")))


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    size = query.number("pageSize", (0, LARGEST_PAGE)) or DEFAULT_PAGE_SIZE
    number = query.number("pageNum")
    first = max(number - 1, 0) * size  # 0 and 1 are both the first page
    found = shown_of(world, call.account, _wanted(world, query))
    total = len(found)
    page = found[max(0, total - first - size) : max(0, total - first)]
    return {
        "instances": [row_json(world, instance) for instance in reversed(page)],  # the newest first
        "pageSize": size,
        "pageNum": number,
        "total": total,
    }


def _wanted(world: World, query: Fields) -> Wanted:
    among: dict[Grouped, frozenset[str]] = {}
    status, product = query.text("status", (0, 63)), query.text("productName").casefold()
    if status:
        among["status"] = frozenset({status})
    if product:
        sold_so = (each.id for each in world.products.values() if product in each.name.casefold())
        among["product_id"] = frozenset(sold_so)
    name = query.text("name")
    return Wanted(among, Search(name) if name else None)


def _verb(act: Callable[[World, Instance], object], verb: Verb) -> Callable[[World, Call], object]:
    def handle(world: World, call: Call) -> object:
        instance = _named(world, call)
        act(world, instance)
        return {"instanceId": instance.id, "state": LEADS_TO[verb]}

    return handle


def _quietly(act: Callable[[World, Instance, Fields], None]) -> Callable[[World, Call], object]:
    def handle(world: World, call: Call) -> object:
        act(world, _named(world, call), Fields(call.body))
        return {}

    return handle


def _named(world: World, call: Call) -> Instance:
    return verbs.find(world, call.account, Fields(call.body).text("instanceId", ID))


def _edit(world: World, instance: Instance, fields: Fields) -> None:
    ports = None
    if fields.has("ports"):
        ports = once_each(
            [
                port_of("ports", each.number("port", PORT), each.word("type", PORT_TYPES))
                for each in fields.children("ports", MOST_PORTS)
            ]
        )
        check_count(len(ports) + len(instance.tools))
    verbs.edit(world, instance, ports, fields.number("expandRootDisk"))


def _upgrade(world: World, instance: Instance, fields: Fields) -> None:
    absent = [name for name in UPGRADE_FIELDS if not fields.has(name)]
    if absent:  # it replaces all, so that what is left out would be lost
        raise bad_parameter(message=f"invalid {absent[0]}: value is required")
    mounts = fields.child("networkVolume").children("volumeMounts", MOST_STORAGES)
    rebuild = Rebuild(
        image_url=fields.text("imageUrl", (1, 500)),
        image_auth_id=fields.text("imageAuthId", (0, 255)),
        envs=envs_of(fields, MOST_ENVS[instance.kind]),
        command=fields.text("command", COMMAND),
        entrypoint=fields.text("entrypoint", COMMAND),
        volumes=tuple(
            VolumeMount(mount.text("id", ID), mount.text("mountPath", (1, 4_095), "/network"))
            for mount in mounts
        ),
        keep_system_disk=fields.flag("save"),
    )
    verbs.upgrade(world, instance, rescreened(world, instance, rebuild))


def _renew(world: World, instance: Instance, fields: Fields) -> None:
    verbs.renew(world, instance, fields.number("month", MONTHS))


def _to_monthly(world: World, instance: Instance, fields: Fields) -> None:
    verbs.to_monthly(world, instance, fields.number("month", MONTHS))


def _set_auto_migrate(world: World, instance: Instance, fields: Fields) -> None:
    verbs.set_auto_migrate(
        world,
        instance,
        on=fields.flag("autoMigrateOpen"),
        system_disk=fields.flag("autoMigrateSystemDisk"),
    )


def _set_auto_renew(world: World, call: Call) -> object:
    fields = Fields(call.body)
    on = fields.flag("autoRenew")
    months = fields.number("autoRenewMonth", MONTHS, 1) if on else 0
    ids = fields.texts("instanceIds")
    if not ids:
        raise bad_parameter(message="invalid instanceIds: value must contain at least 1 item(s)")
    for instance in [verbs.find(world, call.account, key) for key in ids]:
        verbs.set_auto_renew(world, instance, on=on, months=months)
    return {}


_BASE = f"{V1}/gpu/instance"

ROUTES = (
    Route("POST", f"{_BASE}/create", _create),
    Route("GET", _BASE, _get),
    Route("GET", f"{V1}/gpu/instances", _list),
    Route("POST", f"{_BASE}/start", _verb(verbs.start, Verb.START)),
    Route("POST", f"{_BASE}/stop", _verb(verbs.stop, Verb.STOP)),
    Route("POST", f"{_BASE}/restart", _verb(verbs.restart, Verb.RESTART)),
    Route("POST", f"{_BASE}/delete", _verb(verbs.delete, Verb.DELETE)),
    Route("POST", f"{_BASE}/migrate", _verb(verbs.migrate, Verb.MIGRATE)),
    Route("POST", f"{_BASE}/edit", _quietly(_edit)),
    Route("POST", f"{_BASE}/upgrade", _quietly(_upgrade)),
    Route("POST", f"{_BASE}/renewInstance", _quietly(_renew)),
    Route("POST", f"{_BASE}/transToMonthlyInstance", _quietly(_to_monthly)),
    Route("POST", f"{_BASE}/setAutoMigrate", _quietly(_set_auto_migrate)),
    Route("POST", f"{_BASE}/setAutoRenew", _set_auto_renew),
)
