"""Reading v1's words for an instance: the order in a create, the lists of ports, variables and disks.

Each field is held against the limits of the cloud's contract; the first that breaks one refuses the whole.
"""

import re

from ostler.simulator.account.fields import Fields, Span, wrong_value
from ostler.simulator.instance import Env, ExposedPort, Mode, Tool, VolumeMount
from ostler.simulator.order import Order
from ostler.simulator.refusal import bad_parameter

ID: Span = (1, 255)
PORT: Span = (1, 65_535)
COMMAND: Span = (0, 2_047)
IMAGE_AUTH: Span = (0, 10_239)
KEPT_BY_THE_CLOUD = frozenset({2222, 2223, 2224})
MOST_PORTS = 15
MOST_STORAGES = 30
MOST_ENVS = {"gpu": 100, "cpu": 30}
PORT_TYPES = ("http", "tcp")

_PORT_WORD = re.compile(r"\s*(\d{1,5})\s*/\s*(\w+)\s*")


def order_of(fields: Fields, account: str) -> Order:
    """Return the order that a v1 body asks for, or refuse the first field that breaks a limit."""
    kind = fields.word("kind", tuple(MOST_ENVS))
    months = fields.number("month", (0, 120))
    mode = Mode(fields.word("billingMode", ("", *Mode)) or Mode.ON_DEMAND)
    ports = _ports_of(fields.text("ports"))
    tools = _tools(fields)
    check_count(len(ports) + len(tools))
    fields.text("imageAuth", IMAGE_AUTH)  # "user:password"; whether it is right, nobody asks here
    return Order(
        account=account,
        product_id=fields.text("productId", ID),
        image_url=fields.text("imageUrl", (1, 500)),
        name=fields.text("name", (0, 255)),
        kind=kind,
        mode=Mode.MONTHLY if months else mode,
        months=months or 1,
        gpu_num=fields.number("gpuNum", (1, 8)) if kind == "gpu" else 1,
        rootfs_gb=_rootfs_gb(fields, kind),
        cluster_ids=tuple(filter(None, [fields.text("clusterId", (0, 255))])),
        image_auth_id=fields.text("imageAuthId", (0, 255)),
        command=fields.text("command", COMMAND),
        entrypoint=fields.text("entrypoint", COMMAND),
        envs=envs_of(fields, MOST_ENVS[kind]),
        ports=ports,
        tools=tools,
        volumes=_storages(fields),
        network_id=fields.text("networkId"),
        template_id=fields.text("templateId"),
        min_cuda_version=fields.text("minCudaVersion"),
        auto_renew=fields.flag("autoRenew"),
        auto_renew_months=fields.number("autoRenewMonth", (0, 12)),
    )


def _rootfs_gb(fields: Fields, kind: str) -> int:
    """Return the size asked for; what is too small the cloud makes larger, but nothing at all it refuses."""
    if kind == "gpu" and not fields.has("rootfsSize"):
        raise bad_parameter(message="invalid rootfsSize: value is required")
    return fields.number("rootfsSize", (0, 6144))


def _ports_of(text: str) -> tuple[ExposedPort, ...]:
    ports = []
    for word in filter(str.strip, text.split(",")):
        match = _PORT_WORD.fullmatch(word)
        if match is None:
            raise bad_parameter(message=f"invalid ports: {word.strip()!r} is not port/type")
        ports.append(port_of("ports", int(match[1]), match[2]))
    return once_each(ports)


def port_of(field: str, number: int, kind: str) -> ExposedPort:
    """Return one port, or refuse its number or type."""
    if not PORT[0] <= number <= PORT[1]:
        raise wrong_value(field=field, span=PORT, seen=number)
    check_free(field, number)
    if kind.lower() not in PORT_TYPES:
        raise bad_parameter(message=f"invalid {field}: type must be http or tcp, not {kind!r}")
    return ExposedPort(number, kind.lower())


def check_free(field: str, number: int) -> None:
    """Refuse a port that the cloud needs for itself."""
    if number in KEPT_BY_THE_CLOUD:
        raise bad_parameter(message=f"invalid {field}: {number} is kept by the cloud")


def once_each(ports: list[ExposedPort]) -> tuple[ExposedPort, ...]:
    """Return the ports, of each number the last."""
    return tuple({port.port: port for port in ports}.values())


def check_count(count: int) -> None:
    """Refuse more ports and tools than the cloud exposes."""
    if count > MOST_PORTS:
        raise bad_parameter(message=f"invalid ports: at most {MOST_PORTS} ports and tools, not {count}")


def _tools(fields: Fields) -> tuple[Tool, ...]:
    return tuple(
        Tool(tool.text("name"), tool_port_of(tool), tool.word("type", PORT_TYPES, "http"))
        for tool in fields.children("tools", MOST_PORTS)
    )


def tool_port_of(fields: Fields, default: int = 0) -> int:
    """Return the port of a tool, or refuse it."""
    number = fields.number("port", PORT, default)
    check_free(f"{fields.within}.port", number)
    return number


def envs_of(fields: Fields, most: int) -> tuple[Env, ...]:
    """Return the environment; the key of the list is `envs`, an `env` is ignored as in the cloud."""
    return tuple(
        Env(env.text("key", (1, 511)), env.text("value", (0, 4_095))) for env in fields.children("envs", most)
    )


def _storages(fields: Fields) -> tuple[VolumeMount, ...]:
    return tuple(
        VolumeMount(storage.text("Id", ID), storage.text("mountPoint", (1, 4_095), "/network"))
        for storage in fields.children("networkStorages", MOST_STORAGES)
    )
