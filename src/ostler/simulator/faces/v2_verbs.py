"""The verbs of v2: PUTs on an instance, most of them the same as in v1.

Each answers an empty object; what became of the instance is to be read.
"""

from collections.abc import Callable

from ostler.simulator import verbs
from ostler.simulator.account.fields import Fields
from ostler.simulator.account.joining import rescreened
from ostler.simulator.account.kinds import WEB_TERMINALS
from ostler.simulator.account.paths import V2
from ostler.simulator.account.web_terminal import WebTerminal
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.order_json import COMMAND, MOST_ENVS, check_count, envs_of
from ostler.simulator.faces.v2_instances import ports_of
from ostler.simulator.instance import Instance
from ostler.simulator.order import Rebuild
from ostler.simulator.refusal import bad_parameter, invalid_state
from ostler.simulator.status import CONNECTED
from ostler.simulator.world import World

MONTHS = (1, 12)

Act = Callable[[World, Instance, Fields], object]


def _put(word: str, act: Act) -> Route:
    """Return the route of a verb: the instance is found, acted on, and nothing is said of it."""

    def handle(world: World, call: Call) -> object:
        act(world, verbs.find(world, call.account, call.path["id"]), Fields(call.body))
        return {}

    return Route("PUT", f"{V2}/instances/{{id}}/{word}", handle)


def _start(world: World, instance: Instance, _: Fields) -> None:
    verbs.start(world, instance)


def _stop(world: World, instance: Instance, _: Fields) -> None:
    verbs.stop(world, instance)


def _restart(world: World, instance: Instance, _: Fields) -> None:
    verbs.restart(world, instance)


def _migrate(world: World, instance: Instance, _: Fields) -> None:
    verbs.migrate(world, instance)  # whether `save_data` is honoured is the platform's secret


def _upgrade(world: World, instance: Instance, fields: Fields) -> None:
    rebuild = Rebuild(
        image_url=fields.text("image", (1, 500)),
        image_auth_id=fields.text("registry_auth_id", (0, 255)),
        envs=envs_of(fields, MOST_ENVS[instance.kind]),
        command=fields.text("command", COMMAND),
        entrypoint=fields.text("entrypoint", COMMAND),
        volumes=None,  # v2 leaves the disks alone
        keep_system_disk=fields.flag("save_data"),
    )
    verbs.upgrade(world, instance, rescreened(world, instance, rebuild))


def _renew(world: World, instance: Instance, fields: Fields) -> None:
    verbs.renew(world, instance, fields.number("months", MONTHS))


def _set_auto_renew(world: World, instance: Instance, fields: Fields) -> None:
    wanted = fields.child("auto_renew")
    on = wanted.flag("enabled")
    verbs.set_auto_renew(world, instance, on=on, months=wanted.number("months", MONTHS, 1) if on else 0)


def _set_auto_migrate(world: World, instance: Instance, fields: Fields) -> None:
    wanted = fields.child("auto_migrate")
    verbs.set_auto_migrate(
        world, instance, on=wanted.flag("enabled"), system_disk=wanted.flag("include_system_disk")
    )


def _set_billing_mode(world: World, instance: Instance, fields: Fields) -> None:
    if fields.word("type", ("prepaid", "postpaid")) == "prepaid":
        verbs.to_monthly(world, instance, fields.number("months", MONTHS, 1))
    else:
        verbs.to_on_demand(world, instance)


def _set_ports(world: World, instance: Instance, fields: Fields) -> None:
    ports = ports_of(fields)
    check_count(len(ports) + len(instance.tools))
    verbs.edit(world, instance, ports, 0)


def _expand_rootfs(world: World, instance: Instance, fields: Fields) -> None:
    verbs.edit(world, instance, None, fields.number("rootfs_size_expand_gb", (1, 6144)))


def _switch_web_terminal(world: World, instance: Instance, fields: Fields) -> None:
    if not fields.has("enable"):  # the key is not `enabled`, which other bodies of v2 have
        raise bad_parameter(message="invalid enable: value is required")
    if instance.status not in CONNECTED:
        raise invalid_state()
    world.put(WEB_TERMINALS, instance.id, WebTerminal(instance.id, fields.flag("enable")))


ROUTES = (
    _put("start", _start),
    _put("stop", _stop),
    _put("restart", _restart),
    _put("migrate", _migrate),
    _put("upgrade", _upgrade),
    _put("renew", _renew),
    _put("auto-renew", _set_auto_renew),
    _put("auto-migrate", _set_auto_migrate),
    _put("billing-mode", _set_billing_mode),
    _put("ports", _set_ports),
    _put("rootfs-expand", _expand_rootfs),
    _put("web-terminal", _switch_web_terminal),
)
