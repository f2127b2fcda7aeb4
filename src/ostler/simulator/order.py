"""The *order*: what a caller wants created, changed or rebuilt, in the world's own words.

Both faces (v1, v2) translate their JSON into these values, so that the verbs know nothing of wire formats.
"""

from dataclasses import dataclass

from ostler.simulator.instance import Env, ExposedPort, Mode, Tool, VolumeMount


@dataclass(frozen=True, slots=True)
class Order:
    """A new instance; the account comes from the caller's key."""

    account: str
    product_id: str
    image_url: str
    name: str = ""
    kind: str = "gpu"
    mode: Mode = Mode.ON_DEMAND
    months: int = 0
    gpu_num: int = 1
    rootfs_gb: int = 60
    cluster_ids: tuple[str, ...] = ()  # where it may go, in order of preference; none: anywhere with stock
    image_auth_id: str = ""
    command: str = ""
    entrypoint: str = ""
    envs: tuple[Env, ...] = ()
    ports: tuple[ExposedPort, ...] = ()
    tools: tuple[Tool, ...] = ()
    volumes: tuple[VolumeMount, ...] = ()
    network_id: str = ""
    network_ip: str = ""
    template_id: str = ""
    min_cuda_version: str = ""
    auto_renew: bool = False
    auto_renew_months: int = 0
    auto_migrate: bool = True
    auto_migrate_system_disk: bool = True


@dataclass(frozen=True, slots=True)
class Rebuild:
    """An upgrade: the container is made anew from this; everything is replaced."""

    image_url: str
    image_auth_id: str = ""
    envs: tuple[Env, ...] = ()
    command: str = ""
    entrypoint: str = ""
    volumes: tuple[VolumeMount, ...] | None = None  # None: leave as they are
    keep_system_disk: bool = False  # checked and then forgotten: nothing is on a simulated disk
