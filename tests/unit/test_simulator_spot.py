"""The simulated spot market, and the terms that are paid in advance."""

from collections import deque
from collections.abc import Callable

import pytest

from ostler.simulator import spot, subscription, verbs
from ostler.simulator.accounting import set_balance
from ostler.simulator.creation import create
from ostler.simulator.durations import HOUR_S, MONTH_S, Durations
from ostler.simulator.fate import Fate, Outcome
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import NEVER, Instance, Mode, SpotStatus
from ostler.simulator.lifecycle import lose_host
from ostler.simulator.market import shelf_id
from ostler.simulator.order import Rebuild
from ostler.simulator.refusal import Refusal
from ostler.simulator.status import Status
from ostler.simulator.world import World
from tests.support.simulator import EPOCH, a_simulated_instance, an_order, until


def upgrade(world: World, instance: Instance) -> None:
    verbs.upgrade(world, instance, Rebuild("other/image:2"))


class TestTheSpotMarket:
    def test_a_spot_instance_gets_an_hours_notice_and_never_in_its_first_hour(self) -> None:
        world = new_world(EPOCH, durations=Durations(spot_life_s=600))
        instance = create(world, an_order(Mode.SPOT))

        while instance.spot_status is not SpotStatus.NOTIFIED:
            due = world.next_due()
            assert due is not None
            world.advance(due)

        assert world.now >= instance.created_at + HOUR_S
        assert instance.spot_reclaim_at == world.now + HOUR_S
        assert instance.status is Status.RUNNING

    def test_at_the_reclaim_time_it_exits_and_keeps_the_time(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)

        spot.force_notice(world, instance, HOUR_S)
        reclaim_at = instance.spot_reclaim_at
        world.advance(reclaim_at)
        assert (instance.status, instance.spot_status) == (Status.STOPPING, SpotStatus.RECLAIMING)
        world.advance(reclaim_at + 60)

        assert (instance.status, instance.spot_status) == (Status.EXITED, SpotStatus.TERMINATED)
        assert instance.spot_reclaim_at == reclaim_at

    def test_taking_the_node_lasts_as_long_as_the_market_says(self) -> None:
        world = new_world(EPOCH, durations=Durations(spot_reclaiming_s=40))
        instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)

        spot.force_notice(world, instance, 0)
        world.advance(EPOCH + 39)
        before = instance.status
        world.advance(EPOCH + 40)

        assert (before, instance.status) == (Status.STOPPING, Status.EXITED)

    def test_a_reclaimed_gpu_is_gone_to_somebody_else(self) -> None:
        world = new_world(EPOCH)
        shelf = world.shelves[shelf_id("4090.16c62g", "us-ca-6", Mode.SPOT)]
        full = shelf.free
        instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)

        spot.force_notice(world, instance, 0)
        world.advance(EPOCH + 60)

        assert instance.status is Status.EXITED
        assert shelf.free == full - 1

    def test_a_reclaimed_instance_cannot_start_but_migrates_under_its_id(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)
        spot.force_notice(world, instance, 0)
        world.advance(EPOCH + 60)

        for act in (verbs.start, upgrade):
            with pytest.raises(Refusal) as refusal:
                act(world, instance)
            assert refusal.value.reason == "INSUFFICIENT_RESOURCE"
        verbs.migrate(world, instance)
        until(world, instance, Status.RUNNING)

        assert (instance.spot_status, instance.spot_reclaim_at) == (SpotStatus.RUNNING, NEVER)

    def test_stopping_by_oneself_leaves_no_trace_of_the_market(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)
        spot.force_notice(world, instance, HOUR_S)

        verbs.stop(world, instance)
        world.advance(EPOCH + 2 * HOUR_S)

        assert (instance.status, instance.spot_status, instance.spot_reclaim_at) == (
            Status.EXITED,
            SpotStatus.NOT_SPOT,
            NEVER,
        )

    def test_a_restart_does_not_buy_a_way_out_of_a_notice(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)
        spot.force_notice(world, instance, HOUR_S)

        verbs.restart(world, instance)
        world.advance(EPOCH + HOUR_S + 60)

        assert (instance.status, instance.spot_status) == (Status.EXITED, SpotStatus.TERMINATED)

    def test_an_exit_of_any_kind_ends_the_notice(self) -> None:
        world = new_world(EPOCH)
        lost, failed = (a_simulated_instance(world, Status.RUNNING, Mode.SPOT) for _ in range(2))
        verbs.set_auto_migrate(world, lost, on=False, system_disk=False)
        for instance in (lost, failed):
            spot.force_notice(world, instance, 600)
        world.fates["restart"] = deque([Fate(Status.RESTARTING, Outcome.FAIL)])

        lose_host(world, lost)
        verbs.restart(world, failed)
        world.advance(EPOCH + 300)
        costs = [world.ledger[each.id].cost_at(world.now) for each in (lost, failed)]
        world.advance(EPOCH + 6_000)

        assert [(each.status, each.spot_status) for each in (lost, failed)] == [
            (Status.EXITED, SpotStatus.NOT_SPOT)
        ] * 2
        assert [world.ledger[each.id].cost_at(world.now) for each in (lost, failed)] == costs
        assert world.wallet("default").gpus_in_use == 0

    def test_only_a_running_spot_instance_can_be_reclaimed(self) -> None:
        world = new_world(EPOCH)

        for status, mode in ((Status.RUNNING, Mode.ON_DEMAND), (Status.EXITED, Mode.SPOT)):
            with pytest.raises(Refusal):
                spot.force_notice(world, a_simulated_instance(world, status, mode), 0)


class TestTerms:
    def test_an_instance_stops_when_its_paid_month_is_over(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)
        assert instance.ends_at == EPOCH + MONTH_S

        world.advance(EPOCH + MONTH_S + 60)

        assert instance.status is Status.EXITED

    @pytest.mark.parametrize("act", [verbs.start, verbs.migrate, upgrade])
    def test_after_its_term_it_runs_again_only_when_it_is_renewed(
        self, act: Callable[[World, Instance], object]
    ) -> None:
        world = new_world(EPOCH)
        set_balance(world, "default", 10**9)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)
        world.advance(EPOCH + MONTH_S + 60)

        with pytest.raises(Refusal) as refusal:
            act(world, instance)
        verbs.renew(world, instance, 1)
        act(world, instance)
        until(world, instance, Status.RUNNING)

        assert refusal.value.reason == "EXPIRED_OR_BALANCE_NOT_ENOUGH"
        assert instance.ends_at == EPOCH + 2 * MONTH_S + 60

    def test_renewal_by_hand_and_by_itself_moves_the_end(self) -> None:
        world = new_world(EPOCH)
        set_balance(world, "default", 10**9)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)

        verbs.renew(world, instance, 2)
        assert instance.ends_at == EPOCH + 3 * MONTH_S
        verbs.set_auto_renew(world, instance, on=True, months=1)
        world.advance(EPOCH + 3 * MONTH_S + 60)

        assert instance.status is Status.RUNNING
        assert instance.ends_at == EPOCH + 4 * MONTH_S

    def test_a_renewal_that_cannot_be_paid_ends_the_run(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)
        verbs.set_auto_renew(world, instance, on=True, months=1)
        set_balance(world, "default", 1)

        world.advance(EPOCH + MONTH_S + 60)

        assert instance.status is Status.EXITED

    def test_going_back_to_the_second_waits_for_the_end_of_the_term(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)

        verbs.to_on_demand(world, instance)
        during = instance.mode
        world.advance(EPOCH + MONTH_S + 60)

        assert (during, instance.mode) == (Mode.MONTHLY, Mode.ON_DEMAND)
        assert (instance.status, instance.price_per_hour) == (Status.RUNNING, 35_000)

    def test_after_the_term_going_back_to_the_second_waits_for_nothing(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world, Status.RUNNING, Mode.MONTHLY)
        world.advance(EPOCH + MONTH_S + 60)

        verbs.to_on_demand(world, instance)
        verbs.start(world, instance)
        until(world, instance, Status.RUNNING)

        assert (instance.mode, instance.price_per_hour) == (Mode.ON_DEMAND, 35_000)

    def test_only_what_is_paid_in_advance_can_be_renewed(self) -> None:
        world = new_world(EPOCH)
        instance = a_simulated_instance(world)

        for act in (verbs.renew, subscription.renew):
            with pytest.raises(Refusal) as refusal:
                act(world, instance, 1)
            assert refusal.value.reason == "UNSUPPORTED_BILLING_MODE"
        with pytest.raises(Refusal):
            verbs.to_on_demand(world, instance)
