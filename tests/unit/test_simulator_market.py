"""Stock, placement, quotas and money of the simulator: what an order is refused for, and what a run costs."""

from dataclasses import replace

import pytest

from ostler.simulator import verbs
from ostler.simulator.accounting import pay_in, set_balance
from ostler.simulator.creation import create
from ostler.simulator.durations import DAY_S, HOUR_S, MONTH_S, Durations
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import Instance, Mode, VolumeMount
from ostler.simulator.market import Shelf, shelf_id
from ostler.simulator.money import UNITS_PER_USD
from ostler.simulator.order import Order
from ostler.simulator.refusal import Refusal
from ostler.simulator.status import Status
from ostler.simulator.stockroom import fill
from ostler.simulator.world import World
from tests.support.simulator import EPOCH, a_simulated_instance, an_order, until

SHELF = shelf_id("4090.16c62g", "us-ca-6", Mode.ON_DEMAND)


def set_stock(world: World, free: int, mode: Mode = Mode.ON_DEMAND, cluster_id: str = "us-ca-6") -> None:
    fill(world, Shelf("4090.16c62g", cluster_id, mode, free, max(1, free)))


def reason_of(world: World, order: Order) -> str:
    with pytest.raises(Refusal) as refusal:
        create(world, order)
    assert refusal.value.status == 400
    assert world.instances == {}
    return refusal.value.reason


class TestStock:
    def test_the_last_gpu_goes_to_the_first_and_the_second_is_refused(self) -> None:
        world = new_world(EPOCH)
        set_stock(world, 1)
        create(world, an_order())

        with pytest.raises(Refusal) as refusal:
            create(world, an_order())

        assert refusal.value.reason == "INSUFFICIENT_RESOURCE"
        assert world.shelves[SHELF].free == 0

    def test_all_gpus_of_an_order_must_be_there(self) -> None:
        world = new_world(EPOCH)
        set_stock(world, 3)

        assert reason_of(world, replace(an_order(), gpu_num=4)) == "INSUFFICIENT_RESOURCE"

    def test_spot_has_its_own_shelf_and_a_month_shares_with_the_second(self) -> None:
        world = new_world(EPOCH)
        set_stock(world, 0)

        spotty = create(world, an_order(Mode.SPOT))

        assert spotty.status is Status.PENDING
        with pytest.raises(Refusal, match="insufficient"):
            create(world, an_order(Mode.MONTHLY))

    def test_a_stopped_instance_gives_its_gpu_to_others_and_may_not_get_it_back(self) -> None:
        world = new_world(EPOCH)
        set_stock(world, 1)
        first = create(world, an_order())
        until(world, first, Status.RUNNING)
        verbs.stop(world, first)
        until(world, first, Status.EXITED)
        create(world, an_order())

        with pytest.raises(Refusal) as refused_start:
            verbs.start(world, first)
        with pytest.raises(Refusal) as refused_migration:
            verbs.migrate(world, first)

        assert refused_start.value.reason == "INSUFFICIENT_RESOURCE"
        assert refused_migration.value.reason == "MIGRATE_INSUFFICIENT_RESOURCE"
        assert first.status is Status.EXITED

    def test_an_order_without_a_cluster_goes_where_there_is_stock(self) -> None:
        world = new_world(EPOCH)
        for cluster_id in ("us-ca-6", "eu-gb-1"):
            set_stock(world, 0, cluster_id=cluster_id)

        instance = create(world, replace(an_order(), cluster_ids=()))

        assert instance.cluster_id == "as-sgp-2"

    def test_of_several_clusters_the_first_with_stock_is_taken(self) -> None:
        world = new_world(EPOCH)
        set_stock(world, 0)

        instance = create(world, replace(an_order(), cluster_ids=("us-ca-6", "eu-gb-1", "as-sgp-2")))

        assert instance.cluster_id == "eu-gb-1"

    def test_the_default_market_shows_every_kind_of_scarcity(self) -> None:
        world = new_world(EPOCH)
        shelves = world.shelves.values()
        sold_out = {shelf.product_id for shelf in shelves if shelf.free == 0}
        left = {shelf.product_id for shelf in shelves if shelf.free > 0}

        assert sold_out & left, "something is sold out in one place and left in another"
        assert sold_out - left, "something is sold out everywhere"
        assert any(product.spot_price == 0 for product in world.products.values() if product.kind == "gpu")
        assert len(world.clusters) == 7


class TestRefusals:
    @pytest.mark.parametrize(
        ("order", "reason"),
        [
            (replace(an_order(), product_id="no-such"), "NOT_FOUND"),
            (replace(an_order(), kind="cpu"), "NOT_FOUND"),
            (replace(an_order(Mode.SPOT), product_id="H100-80GB.20c240g"), "UNSUPPORTED_BILLING_MODE"),
            (replace(an_order(), rootfs_gb=7_000), "VALIDATOR_PARAM"),
            (replace(an_order(), cluster_ids=("nowhere",)), "VALIDATOR_PARAM"),
            (replace(an_order(), min_cuda_version="13.1"), "CUDA_VERSION_INCOMPATIBLE"),
            (replace(an_order(), image_auth_id="unknown"), "IMAGE_URL_OR_AUTH_ERROR"),
            (replace(an_order(), volumes=(VolumeMount("no-such", "/data"),)), "NETWORK_STORAGE_UNAVAILABLE"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_an_order_that_cannot_be_is_refused_with_its_reason(self, order: Order, reason: str) -> None:
        assert reason_of(new_world(EPOCH), order) == reason

    def test_an_account_without_money_cannot_create(self) -> None:
        world = new_world(EPOCH)
        set_balance(world, "default", 0)

        assert reason_of(world, an_order()) == "BALANCE_NOT_ENOUGH"

    def test_a_month_must_be_paid_in_full(self) -> None:
        world = new_world(EPOCH)
        set_balance(world, "default", 100 * UNITS_PER_USD)

        assert reason_of(world, an_order(Mode.MONTHLY)) == "BALANCE_NOT_ENOUGH"
        assert world.ledger == {}

    def test_quotas_of_gpus_and_instances_hold(self) -> None:
        world = new_world(EPOCH)
        wallet = world.wallet("default")
        wallet.gpu_limit = 2
        with pytest.raises(Refusal) as too_many_gpus:
            create(world, replace(an_order(), gpu_num=3))
        wallet.instance_limit = 1
        create(world, an_order())
        with pytest.raises(Refusal) as too_many:
            create(world, an_order())

        assert (too_many_gpus.value.reason, too_many_gpus.value.metadata) == (
            "CREATE_GPU_NUM_LIMIT",
            {"0": "2"},
        )
        assert (too_many.value.reason, too_many.value.metadata) == ("CREATE_INSTANCE_LIMIT", {"0": "1"})


class TestBilling:
    def test_a_gpu_is_billed_by_the_second_from_pulling_to_the_end_of_the_stop(self) -> None:
        world = new_world(EPOCH, durations=Durations(spread=0.0))
        instance = create(world, replace(an_order(), gpu_num=2))
        entry = world.ledger[instance.id]

        until(world, instance, Status.PULLING)
        pulling_at = world.now
        before = entry.cost_at(world.now)
        until(world, instance, Status.RUNNING)
        world.advance(pulling_at + HOUR_S)
        verbs.stop(world, instance)
        until(world, instance, Status.EXITED)
        seconds = int(world.now - pulling_at)

        assert before == 0
        assert entry.seconds_at(world.now) == seconds
        assert entry.cost_at(world.now) == 2 * 35_000 * seconds // 3600
        assert entry.cost_at(world.now + DAY_S) == entry.cost_at(world.now)

    def test_a_large_disk_costs_while_stopped_until_it_is_wiped(self) -> None:
        world = new_world(EPOCH)
        instance = create(world, replace(an_order(), rootfs_gb=160))
        until(world, instance, Status.RUNNING)
        verbs.stop(world, instance)
        until(world, instance, Status.EXITED)
        entry, stopped_at = world.ledger[instance.id], world.now
        cost = entry.cost_at(world.now)

        world.advance(stopped_at + DAY_S)
        after_a_day = entry.cost_at(world.now)
        world.advance(stopped_at + 30 * DAY_S)

        assert after_a_day - cost == 100 * 500  # 100 GB above the free ones, $0.005 each
        assert entry.cost_at(world.now) - cost == 7 * 100 * 500

    def test_nothing_is_billed_after_a_delete(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)
        world.advance(EPOCH + 100)

        verbs.delete(world, instance)
        cost = world.ledger[instance.id].cost_at(world.now)
        world.advance(EPOCH + DAY_S)

        assert world.ledger[instance.id].cost_at(world.now) == cost == 35_000 * 100 // 3600

    def test_a_price_is_fixed_when_the_instance_is_created(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)

        world.products["4090.16c62g"].price = 99_000
        world.advance(EPOCH + HOUR_S)

        assert world.ledger[instance.id].cost_at(world.now) == 35_000

    def test_a_month_is_paid_at_once_and_the_seconds_cost_nothing(self) -> None:
        world = new_world(EPOCH)
        balance = world.wallet("default").balance(world.now)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)
        price = world.products["4090.16c62g"].monthly_prices[1]

        world.advance(EPOCH + MONTH_S - 1)

        assert world.ledger[instance.id].cost_at(world.now) == price
        assert world.wallet("default").balance(world.now) == balance - price

    def test_the_wallet_pays_what_the_ledger_says(self) -> None:
        world = new_world(EPOCH)
        instances = [a_simulated_instance(world, Status.RUNNING, mode) for mode in Mode]
        start = 1_000 * UNITS_PER_USD
        world.advance(EPOCH + 1_000.7)
        verbs.stop(world, instances[0])
        world.advance(EPOCH + 5_000.3)

        spent = start - world.wallet("default").balance(world.now)
        assert abs(spent - sum(entry.cost_at(world.now) for entry in world.ledger.values())) <= len(instances)

    def test_money_runs_out_to_the_second(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)
        set_balance(world, "default", 35_000)  # an hour of it

        world.advance(EPOCH + HOUR_S - 1)
        still = instance.status
        world.advance(EPOCH + HOUR_S)

        assert (still, instance.status) == (Status.RUNNING, Status.FREEZING)
        assert world.wallet("default").balance(world.now) == 0

    def test_paying_in_ends_the_arrears(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)
        set_balance(world, "default", 1)
        world.advance(EPOCH + HOUR_S)
        is_frozen = world.wallet("default").is_frozen

        pay_in(world, "default", 10 * UNITS_PER_USD)

        assert is_frozen
        assert not world.wallet("default").is_frozen
        assert instance.status is Status.EXITED

    def test_accounts_pay_for_themselves(self) -> None:
        world = new_world(EPOCH)
        a_simulated_instance(world)
        theirs: Instance = create(world, an_order(account="somebody"))

        world.advance(EPOCH + DAY_S)

        assert list(world.fleet("somebody")) == [theirs]
        assert theirs not in world.fleet("default")
        assert world.wallet("somebody").rate == 35_000 * 24
