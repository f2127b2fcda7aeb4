"""Seeding: many instances at once, as if they had run for a day, for measuring and for trying out.

They are ordinary instances on ordinary stock, which is filled up for them; the account gets money for what
they have cost and for a month to come.
"""

from ostler.simulator import stockroom
from ostler.simulator.accounting import open_account, pay_in
from ostler.simulator.creation import admit
from ostler.simulator.durations import DAY_S, HOUR_S
from ostler.simulator.instance import ExposedPort, Instance, Mode, Timer
from ostler.simulator.lifecycle import move
from ostler.simulator.market import Shelf, shelf_id
from ostler.simulator.money import HOURS_PER_DAY, Span, whole_seconds
from ostler.simulator.status import Status
from ostler.simulator.world import INSTANCES, World

PRODUCT = "4090.16c62g"
CLUSTER = "us-ca-6"
IMAGE = "docker.io/library/ubuntu:22.04"
DAYS_PAID = 30


def seed(world: World, account: str, count: int, *, status: Status, name: str) -> list[str]:
    """Add instances in a settled status and return their ids, oldest first."""
    product = world.products[PRODUCT]
    shelf = world.shelves[shelf_id(PRODUCT, CLUSTER, Mode.ON_DEMAND)]
    stockroom.fill(world, Shelf(PRODUCT, CLUSTER, Mode.ON_DEMAND, shelf.free + count, shelf.capacity + count))
    pay_in(world, account, product.price * HOURS_PER_DAY * (DAYS_PAID + 1) * count)
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
        created_at=world.now - DAY_S,
        price_per_hour=world.products[PRODUCT].price,
        ports=(ExposedPort(8080, "http"),),
        app=world.default_app,
    )
    open_account(world, instance).created_at = instance.created_at
    stockroom.take(world, instance)
    admit(world, instance)
    move(world, instance, status)
    _let_have_run(world, instance, world.now - HOUR_S if status is Status.EXITED else None)
    return instance.id


def _let_have_run(world: World, instance: Instance, until: float | None) -> None:
    """Give an instance a past: it ran, and was billed, since its creation until then, or does so still."""
    rate = instance.price_per_hour * HOURS_PER_DAY
    seconds = whole_seconds(instance.created_at, world.now if until is None else until)
    instance.last_started_at = instance.created_at
    if until is not None:
        instance.last_stopped_at, instance.use_seconds = until, seconds
        instance.release_data_at = until + world.durations.keep_data_days * DAY_S
        instance.timers[Timer.RELEASE_DATA] = instance.release_data_at
    world.touch(INSTANCES, instance.id)
    world.ledger[instance.id].spans[:] = [Span(instance.created_at, rate, has_gpu=True, end=until)]
    world.wallet(instance.account).unit_seconds += rate * seconds
