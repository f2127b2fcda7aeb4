"""A *template*: which image to run, what it exposes and how, kept under a name.

Official and community templates are seen by everybody; a private one by its owner, who alone may change it.
The cloud answers a missing template with a 400, not a 404.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from ostler.simulator.account.fields import Span, not_in_list, wrong_length, wrong_value
from ostler.simulator.refusal import Refusal, bad_parameter

COMMAND_LENGTH: Span = (0, 2047)
IMAGE_LENGTH: Span = (1, 500)
NAME_LENGTH: Span = (1, 255)
README_LENGTH: Span = (0, 20_480)
ENV_KEY_LENGTH: Span = (1, 511)
ENV_VALUE_LENGTH: Span = (0, 4095)
ROOTFS_GB: Span = (10, 6144)
PORT: Span = (1, 65_535)
RESERVED_PORTS = frozenset({2222, 2223, 2224})
MOST_PORTS = 15  # tools count too
MOST_ENVS = 100
KINDS = ("instance", "serverless")
PROTOCOLS = ("http", "tcp", "udp")


class Channel(StrEnum):
    """Who sees a template."""

    PRIVATE = "private"  # its owner
    COMMUNITY = "community"  # everybody; made by a user
    OFFICIAL = "official"  # everybody; made by the cloud


@dataclass(frozen=True, slots=True)
class PortGroup:
    """The ports of one protocol."""

    protocol: str
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Volume:
    """A disk that the template wants."""

    kind: str
    size_gb: int
    mount_path: str


@dataclass(frozen=True, slots=True)
class Tool:
    """An application of the image that the console links to."""

    name: str
    port: int
    protocol: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU that the template's author recommends."""

    product_id: str
    count: int


@dataclass(frozen=True, slots=True)
class Template:
    """A template as the cloud keeps it; without an id while it is only asked for."""

    id: str = ""
    account: str = ""
    name: str = ""
    image: str = ""
    channel: Channel = Channel.PRIVATE
    kind: str = "instance"
    readme: str = ""
    logo: str = ""
    description: str = ""
    author: str = ""
    tags: tuple[str, ...] = ()
    registry_auth_id: str = ""
    start_command: str = ""
    entrypoint: str = ""
    rootfs_gb: int = 0
    volumes: tuple[Volume, ...] = ()
    ports: tuple[PortGroup, ...] = ()
    envs: tuple[tuple[str, str], ...] = ()
    tools: tuple[Tool, ...] = ()
    cards: tuple[Card, ...] = ()
    min_cuda_version: str = ""
    created_at: int = 0


def checked(template: Template) -> Template:
    """Return the template as it is, or refuse what breaks a limit."""
    _check_texts(template)
    _check_envs(template.envs)
    check_ports([port for group in template.ports for port in group.ports], len(template.tools))
    for group in template.ports:
        if group.protocol not in PROTOCOLS:
            raise not_in_list(field="ports.type", allowed=PROTOCOLS, seen=group.protocol)
    if template.kind not in KINDS:
        raise not_in_list(field="type", allowed=KINDS, seen=template.kind)
    if not ROOTFS_GB[0] <= template.rootfs_gb <= ROOTFS_GB[1]:
        raise wrong_value(field="rootfsSize", span=ROOTFS_GB, seen=template.rootfs_gb)
    return template


def check_ports(ports: list[int], tools: int = 0) -> None:
    """Refuse ports that the cloud keeps for itself, and too many of them."""
    if len(ports) + tools > MOST_PORTS:
        raise bad_parameter(
            message=f"invalid ports: at most {MOST_PORTS} ports and tools, not {len(ports) + tools}"
        )
    for port in ports:
        if not PORT[0] <= port <= PORT[1]:
            raise wrong_value(field="ports", span=PORT, seen=port)
        if port in RESERVED_PORTS:
            raise bad_parameter(message=f"invalid ports: {port} is reserved")


def owned(template: Template, account: str) -> Template:
    """Return the template if this account may change it."""
    if template.account != account:
        raise Refusal(403, "NO_PERMISSION", f"template {template.id} belongs to somebody else")
    return template


def published(template: Template, *, account: str, template_id: str, now: int) -> Template:
    """Return a new template as the cloud files it; users cannot make official ones."""
    if template.channel is Channel.OFFICIAL:
        raise Refusal(403, "NO_PERMISSION", "official templates are made by the cloud")
    return replace(checked(template), id=template_id, account=account, created_at=now)


def _check_texts(template: Template) -> None:
    for field, value, span in (
        ("name", template.name, NAME_LENGTH),
        ("image", template.image, IMAGE_LENGTH),
        ("readme", template.readme, README_LENGTH),
        ("startCommand", template.start_command, COMMAND_LENGTH),
        ("entrypoint", template.entrypoint, COMMAND_LENGTH),
    ):
        if not span[0] <= len(value) <= span[1]:
            raise wrong_length(field, span)


def _check_envs(envs: tuple[tuple[str, str], ...]) -> None:
    if len(envs) > MOST_ENVS:
        raise bad_parameter(message=f"invalid envs: value must contain no more than {MOST_ENVS} item(s)")
    for key, value in envs:
        if not ENV_KEY_LENGTH[0] <= len(key) <= ENV_KEY_LENGTH[1]:
            raise wrong_length(field="envs.key", span=ENV_KEY_LENGTH)
        if len(value) > ENV_VALUE_LENGTH[1]:
            raise wrong_length(field="envs.value", span=ENV_VALUE_LENGTH)
