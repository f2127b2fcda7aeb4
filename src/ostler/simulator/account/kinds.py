"""The kinds of things that an account owns, as the world keeps them, and how to find one's own among them.

A kind that is not claimed sleeps in the state file and time does not act on it; `joining.py` claims them all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from ostler.simulator.account.beginning import Beginning, starter_auth, starter_template
from ostler.simulator.account.endpoint import Endpoint
from ostler.simulator.account.image import ForgottenImage
from ostler.simulator.account.manners import Manners
from ostler.simulator.account.metrics import GpuUse
from ostler.simulator.account.network import Network
from ostler.simulator.account.network_storage import NetworkStorage
from ostler.simulator.account.prewarm import PrewarmTask
from ostler.simulator.account.registry_auth import RegistryAuth
from ostler.simulator.account.template import Template
from ostler.simulator.account.web_terminal import WebTerminal
from ostler.simulator.money import LedgerEntry
from ostler.simulator.refusal import Refusal, missing
from ostler.simulator.world import CLUSTERS, STORAGE_LEDGER, Kind, World


class Owned(Protocol):
    """A thing that belongs to an account."""

    @property
    def id(self) -> str: ...
    @property
    def account(self) -> str: ...


Thing = TypeVar("Thing", bound=Owned)


def _fetch(world: World, task: PrewarmTask) -> None:
    """The image has arrived: instances of this cluster find it there from now on."""
    world.put(PREWARM_TASKS, task.id, replace(task, is_fetched=True))
    cluster = world.clusters.get(task.cluster_id)
    if cluster is not None:
        cluster.cached_images.add(task.image)
        world.touch(CLUSTERS, cluster.id)


TEMPLATES = Kind("template", Template)
REGISTRY_AUTHS = Kind("registry", RegistryAuth)
STORAGES = Kind("storage", NetworkStorage)
NETWORKS = Kind("network", Network)
PREWARM_TASKS = Kind(
    "prewarm", PrewarmTask, due=lambda task: None if task.is_fetched else task.completed_at, on_due=_fetch
)
ENDPOINTS = Kind("endpoint", Endpoint)
FORGOTTEN_IMAGES = Kind("forgotten_image", ForgottenImage)
GPU_USES = Kind("gpu_use", GpuUse)
WEB_TERMINALS = Kind("web_terminal", WebTerminal)
MANNERS = Kind("manners", Manners)
BEGINNINGS = Kind("beginning", Beginning)


def claim(world: World) -> None:
    """Make every kind known to a world, so that what a state file held of them wakes up."""
    world.rows(TEMPLATES)
    world.rows(REGISTRY_AUTHS)
    world.rows(STORAGES)
    world.rows(NETWORKS)
    world.rows(PREWARM_TASKS)
    world.rows(ENDPOINTS)
    world.rows(FORGOTTEN_IMAGES)
    world.rows(GPU_USES)
    world.rows(WEB_TERMINALS)
    world.rows(MANNERS)
    world.rows(BEGINNINGS)


def begin(world: World, account: str) -> None:
    """Give an account that is seen for the first time what it begins with."""
    if account in world.rows(BEGINNINGS):
        return
    world.put(BEGINNINGS, account, Beginning(account, int(world.now)))
    auth = starter_auth(account, world.new_id(REGISTRY_AUTHS.name))
    world.put(REGISTRY_AUTHS, auth.id, auth)
    template = starter_template(account, world.new_id(TEMPLATES.name), auth.id, int(world.now))
    world.put(TEMPLATES, template.id, template)


def keep(world: World, kind: Kind[Thing], thing: Thing) -> Thing:
    """Add something to what an account owns, or replace it."""
    begin(world, thing.account)
    world.hold_back(kind, thing.id, world.rows(kind).get(thing.id))
    return world.put(kind, thing.id, thing)


def forget(world: World, kind: Kind[Thing], thing: Thing) -> None:
    """Take something away from what an account owns."""
    world.hold_back(kind, thing.id, thing)
    world.drop(kind, thing.id)


def listed(world: World, kind: Kind[Thing]) -> list[Thing]:
    """Return everybody's things of a kind as lists show them, which may lag behind."""
    shown = world.rows(kind) | world.formers(kind)
    return [thing for thing in shown.values() if thing is not None]


def listed_of(world: World, kind: Kind[Thing], account: str) -> list[Thing]:
    """Return an account's things of a kind as lists show them, which may lag behind."""
    begin(world, account)
    return [thing for thing in listed(world, kind) if thing.account == account]


def owned_by(world: World, kind: Kind[Thing], account: str) -> list[Thing]:
    """Return an account's things of a kind, oldest first."""
    begin(world, account)
    return [thing for thing in world.rows(kind).values() if thing.account == account]


def find_owned(
    world: World,
    kind: Kind[Thing],
    account: str,
    key: str,
    *,
    refusal: Callable[[str], Refusal] = missing,
) -> Thing:
    """Return one of an account's things; what belongs to others does not exist for it."""
    begin(world, account)
    thing = world.rows(kind).get(key)
    if thing is None or thing.account != account:
        raise refusal(NAMES[kind.name])
    return thing


NAMES = {
    "template": "template",
    "registry": "repository auth",
    "storage": "network storage",
    "network": "network",
    "prewarm": "image prewarm task",
    "endpoint": "endpoint",
    "job": "job",
}


def owned_by_ledger(world: World, account: str) -> list[LedgerEntry]:
    """Return what the ledger has of an account, instances and storages that are gone included."""
    entries = (*world.ledger.values(), *world.rows(STORAGE_LEDGER).values())
    return [entry for entry in entries if entry.account == account]


def first_seen(world: World, account: str) -> int:
    """Return when an account began: with its first look at anything, or its first instance."""
    begin(world, account)
    made = (int(entry.created_at) for entry in owned_by_ledger(world, account))
    return min((world.rows(BEGINNINGS)[account].at, *made))


def manners(world: World) -> Manners:
    """Return how this world behaves where the cloud's documents and its live answers differ."""
    return world.rows(MANNERS).get("", Manners())


def set_manners(world: World, wanted: Manners) -> None:
    """Switch the behaviour of a world where documents and live answers differ."""
    world.put(MANNERS, "", wanted)


def gpu_use(world: World, instance_id: str) -> GpuUse:
    """Return how busy an instance's GPUs were said to be."""
    return world.rows(GPU_USES).get(instance_id, GpuUse(instance_id, ()))


def set_gpu_use(world: World, instance_id: str, percent: float | None) -> None:
    """Say how busy an instance's GPUs are from now on; None lets them be plausible again."""
    steps = (*gpu_use(world, instance_id).steps, (int(world.now), percent))
    world.put(GPU_USES, instance_id, GpuUse(instance_id, steps))
