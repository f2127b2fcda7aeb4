"""Seeding: many instances at once, as if they had been there for a while, for measuring and for trying out.

They are ordinary instances on ordinary stock, which is filled up for them; the account gets money for a
month.
"""

from ostler.simulator import stockroom
from ostler.simulator.accounting import open_account, pay_in
from ostler.simulator.creation import admit
from ostler.simulator.instance import ExposedPort, Instance, Mode
from ostler.simulator.lifecycle import move
from ostler.simulator.market import Shelf, shelf_id
from ostler.simulator.money import HOURS_PER_DAY
from ostler.simulator.status import Status
from ostler.simulator.world import World

PRODUCT = "4090.16c62g"
CLUSTER = "us-ca-6"
IMAGE = "docker.io/library/ubuntu:22.04"
DAYS_PAID = 30


def seed(world: World, account: str, count: int, *, status: Status, name: str) -> list[str]:
    """Add instances in a settled status and return their ids, oldest first."""
    product = world.products[PRODUCT]
    shelf = world.shelves[shelf_id(PRODUCT, CLUSTER, Mode.ON_DEMAND)]
    stockroom.fill(world, Shelf(PRODUCT, CLUSTER, Mode.ON_DEMAND, shelf.free + count, shelf.capacity + count))
    pay_in(world, account, product.price * HOURS_PER_DAY * DAYS_PAID * count)
    return [_add(world, account, f"{name}-{number:06d}", status) for number in range(count)]


def _add(world: World, account: str, name: str, status: Status) -> str:
    instance = Instance(
        id=world.new_id("instance"),
        account=account,
        name=name,
        kind="gpu",
        product_id=PRODUCT,
        cluster_id=CLUSTER,
        mode=Mode.ON_DEMAND,
        gpu_num=1,
        rootfs_gb=60,
        image_url=IMAGE,
        created_at=world.now,
        price_per_hour=world.products[PRODUCT].price,
        ports=(ExposedPort(8080, "http"),),
        app=world.default_app,
    )
    open_account(world, instance)
    stockroom.take(world, instance)
    admit(world, instance)
    move(world, instance, status)
    return instance.id
