"""Template validation: what a template says about itself, and whether it can be run.

A *sheet* is a template as somebody states it, not yet believed; a *verdict* is the sheet with every problem
found in it, or the template that it makes. All problems are found at once, each with its field and value;
values of the environment are never shown.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ostler.domain.catalogue import Port, Protocol, Template

MAX_IMAGE_LENGTH = 500
MAX_PORTS = 15
MAX_ENVS = 100
MAX_ENV_KEY_LENGTH = 511
MAX_ENV_VALUE_LENGTH = 4095
MAX_COMMAND_LENGTH = 2047
MAX_ROOTFS_GB = 6144
RESERVED_PORTS = frozenset({2222, 2223, 2224})  # the cloud's own way into an instance

_HIGHEST_PORT = 65_535
# registry[:port]/path[:tag][@digest]; uppercase is allowed where registries allow it (host, tag)
_IMAGE = re.compile(
    r"(?:[\w.-]+(?::\d{1,5})?/)?[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*"
    r"(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
# https is what the cloud's gateway makes of an http port anyway
_EXPOSED_AS = {"tcp": Protocol.TCP, "http": Protocol.HTTP, "https": Protocol.HTTP}


@dataclass(frozen=True, slots=True)
class StatedPort:
    """A port as somebody wrote it."""

    number: int
    protocol: str


@dataclass(frozen=True, slots=True)
class TemplateSheet:
    """A template as somebody states it."""

    id: str
    name: str
    image: str
    channel: str = ""
    rootfs_gb: int = 0
    ports: Sequence[StatedPort] = ()
    envs: Sequence[tuple[str, str]] = field(default=(), repr=False)
    start_command: str = ""
    entrypoint: str = ""
    registry_auth_id: str = ""
    min_cuda_version: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: in which field, with which value."""

    field: str
    value: str
    message: str


@dataclass(frozen=True, slots=True)
class TemplateVerdict:
    """What became of a sheet: `template` is None as long as there are problems."""

    sheet: TemplateSheet
    problems: tuple[Problem, ...]
    template: Template | None


def judged(sheet: TemplateSheet) -> TemplateVerdict:
    """Return the template that a sheet makes, or everything that is wrong with it."""
    problems = (
        *_image_problems(sheet.image),
        *_size_problems(sheet),
        *_port_problems(sheet.ports),
        *_env_problems(sheet.envs),
    )
    return TemplateVerdict(sheet, problems, None if problems else _template(sheet))


def _template(sheet: TemplateSheet) -> Template:
    return Template(
        id=sheet.id,
        name=sheet.name,
        image=sheet.image,
        channel=sheet.channel,
        rootfs_gb=sheet.rootfs_gb,
        ports=tuple(Port(port.number, _EXPOSED_AS[port.protocol]) for port in sheet.ports),
        envs=dict(sheet.envs),
        start_command=sheet.start_command,
        entrypoint=sheet.entrypoint,
        registry_auth_id=sheet.registry_auth_id,
        min_cuda_version=sheet.min_cuda_version,
    )


def _image_problems(image: str) -> Iterator[Problem]:
    if not image:
        yield Problem("image", "", "is missing")
    elif len(image) > MAX_IMAGE_LENGTH:
        yield Problem("image", image[:60] + "…", f"is longer than {MAX_IMAGE_LENGTH} characters")
    elif not _IMAGE.fullmatch(image):
        yield Problem("image", image, "is no image reference such as `docker.io/library/ubuntu:22.04`")


def _size_problems(sheet: TemplateSheet) -> Iterator[Problem]:
    if not 0 <= sheet.rootfs_gb <= MAX_ROOTFS_GB:
        yield Problem("rootfsSize", str(sheet.rootfs_gb), f"must be between 0 and {MAX_ROOTFS_GB} GB")
    for name, text in (("startCommand", sheet.start_command), ("entrypoint", sheet.entrypoint)):
        if len(text) > MAX_COMMAND_LENGTH:
            yield Problem(name, text[:60] + "…", f"is longer than {MAX_COMMAND_LENGTH} characters")


def _port_problems(ports: Sequence[StatedPort]) -> Iterator[Problem]:
    if len(ports) > MAX_PORTS:
        yield Problem("ports", str(len(ports)), f"more than {MAX_PORTS} ports cannot be exposed")
    first_seen: dict[int, int] = {}
    for index, port in enumerate(ports):
        if not 1 <= port.number <= _HIGHEST_PORT:
            yield Problem(f"ports[{index}].port", str(port.number), f"must be between 1 and {_HIGHEST_PORT}")
        elif port.number in RESERVED_PORTS:
            yield Problem(f"ports[{index}].port", str(port.number), "is reserved by the cloud")
        elif port.number in first_seen:
            twin = f"ports[{first_seen[port.number]}]"
            yield Problem(f"ports[{index}].port", str(port.number), f"is exposed by {twin} already")
        first_seen.setdefault(port.number, index)
        if port.protocol not in _EXPOSED_AS:
            yield Problem(f"ports[{index}].type", port.protocol, _why_not(port.protocol))


def _why_not(protocol: str) -> str:
    if protocol == "udp":
        return "the cloud cannot expose UDP"
    return "must be tcp, http or https"


def _env_problems(envs: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    if len(envs) > MAX_ENVS:
        yield Problem("envs", str(len(envs)), f"more than {MAX_ENVS} variables are not accepted")
    first_seen: dict[str, int] = {}
    for index, (key, value) in enumerate(envs):
        if not key:
            yield Problem(f"envs[{index}].key", "", "is missing")
        elif len(key) > MAX_ENV_KEY_LENGTH:
            yield Problem(
                f"envs[{index}].key", key[:60] + "…", f"is longer than {MAX_ENV_KEY_LENGTH} characters"
            )
        elif key in first_seen:
            yield Problem(f"envs[{index}].key", key, f"is set by envs[{first_seen[key]}] already")
        first_seen.setdefault(key, index)
        if len(value) > MAX_ENV_VALUE_LENGTH:
            size = f"{len(value)} characters"  # the value itself may be a secret
            yield Problem(f"envs[{index}].value", size, f"is longer than {MAX_ENV_VALUE_LENGTH} characters")
