"""How a world begins: its laws are joined, then it is filled.

Either with the default market and nothing running, or with what a state file has kept.
"""

from collections.abc import Iterable

from ostler.simulator.account.joining import join
from ostler.simulator.account.template_catalogue import SHARED_TEMPLATES
from ostler.simulator.default_market import default_clusters, default_products, default_shelves
from ostler.simulator.durations import Durations
from ostler.simulator.job import JOBS
from ostler.simulator.keys import KEYS
from ostler.simulator.lifecycle import progress, run_dry
from ostler.simulator.stockroom import fill
from ostler.simulator.world import (
    CLUSTERS,
    INSTANCES,
    LEDGER,
    PRODUCTS,
    SHELVES,
    STORAGE_LEDGER,
    WALLETS,
    Change,
    World,
)


def new_world(now: float, *, seed: int = 0, durations: Durations | None = None) -> World:
    """Return a world with the default market and nothing running."""
    world = World(now, seed=seed, durations=durations)
    _join(world)
    fill_market(world)
    return world


def saved_world(
    now: float, rows: Iterable[Change], *, seed: int = 0, durations: Durations | None = None
) -> World:
    """Return the world that a state file holds, as it was when its last row was written."""
    world = World(now, seed=seed, durations=durations)
    for row in rows:
        world.restore(row)
    _join(world)
    if not world.clusters:
        fill_market(world)
    _gather_fleets(world)
    return world


def _gather_fleets(world: World) -> None:
    instances = world.instances.values()
    world.last_number = max((instance.number for instance in instances), default=0)
    for instance in instances:
        if not instance.number:  # kept by a version that did not count
            instance.number = world.next_number()
            world.touch(INSTANCES, instance.id)
        world.fleet(instance.account).add(instance)


def fill_market(world: World) -> None:
    """Put what is sold into a world."""
    images = {template.image for template in SHARED_TEMPLATES}
    for cluster in default_clusters():
        cluster.cached_images |= images
        world.put(CLUSTERS, cluster.id, cluster)
    for product in default_products():
        world.put(PRODUCTS, product.id, product)
    for shelf in default_shelves():
        fill(world, shelf)


def _join(world: World) -> None:
    world.govern(WALLETS, run_dry)
    world.govern(INSTANCES, progress)
    world.rows(CLUSTERS)
    world.rows(PRODUCTS)
    world.rows(SHELVES)
    world.rows(LEDGER)
    world.rows(STORAGE_LEDGER)
    world.rows(JOBS)
    world.rows(KEYS)
    join(world)
