"""The *stockroom*: taking GPUs off a shelf and putting them back.

A shelf that was never filled is empty. What a spot reclaim takes is gone to somebody else, so it is written
off instead of put back.
"""

from ostler.simulator.instance import Instance, Mode
from ostler.simulator.market import Shelf, shelf_id
from ostler.simulator.world import SHELVES, WALLETS, World


def free(world: World, product_id: str, cluster_id: str, mode: Mode) -> int:
    """Return how many GPUs are left."""
    shelf = world.shelves.get(shelf_id(product_id, cluster_id, mode))
    return shelf.free if shelf is not None else 0


def has_room_for(world: World, instance: Instance) -> bool:
    """Tell whether the instance's own cluster could give it its GPUs."""
    return free(world, instance.product_id, instance.cluster_id, instance.mode) >= instance.gpu_num


def take(world: World, instance: Instance) -> None:
    """Take an instance's GPUs; the caller has looked whether they are there."""
    _move(world, instance, -instance.gpu_num)


def put_back(world: World, instance: Instance) -> None:
    """Give an instance's GPUs back for others to take."""
    _move(world, instance, instance.gpu_num)


def write_off(world: World, instance: Instance) -> None:
    """Let somebody outside this world keep the instance's GPUs."""
    _move(world, instance, instance.gpu_num)
    shelf = world.shelves[shelf_id(instance.product_id, instance.cluster_id, instance.mode)]
    shelf.free = max(0, shelf.free - instance.gpu_num)
    shelf.capacity = max(0, shelf.capacity - instance.gpu_num)


def fill(world: World, shelf: Shelf) -> None:
    """Put a shelf in the world, or set one anew."""
    world.put(SHELVES, shelf.id, shelf)


def _move(world: World, instance: Instance, gpus: int) -> None:
    key = shelf_id(instance.product_id, instance.cluster_id, instance.mode)
    shelf = world.shelves.get(key)
    if shelf is None:
        shelf = Shelf(instance.product_id, instance.cluster_id, instance.mode, free=0, capacity=0)
        world.put(SHELVES, key, shelf)
    shelf.free += gpus
    wallet = world.wallet(instance.account)
    wallet.gpus_in_use -= gpus
    world.touch(SHELVES, key)
    world.touch(WALLETS, instance.account)
