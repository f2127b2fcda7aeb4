"""Properties of the simulated world that hold after any sequence of verbs and clock steps."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ostler.simulator import spot, verbs
from ostler.simulator.creation import create
from ostler.simulator.durations import Durations
from ostler.simulator.fate import VERBS, Fate, Outcome, stations
from ostler.simulator.fleet import Wanted
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import Instance, Mode, SpotStatus, Timer
from ostler.simulator.lifecycle import lose_host
from ostler.simulator.market import Shelf, shelf_id
from ostler.simulator.order import Rebuild
from ostler.simulator.refusal import Refusal
from ostler.simulator.status import BILLED, DISKS_BILLED, FOLLOWS, HOLDS_GPU, Status
from ostler.simulator.stockroom import fill
from ostler.simulator.world import World
from tests.support.simulator import EPOCH, a_simulated_instance, an_order

CAPACITY = 3
MODES_WANTED = [Wanted({"mode": frozenset({mode})}) for mode in Mode]
MODES = st.sampled_from(list(Mode))
ACTS: dict[str, Callable[[World, Instance], object]] = {
    "start": verbs.start,
    "stop": verbs.stop,
    "restart": verbs.restart,
    "delete": verbs.delete,
    "migrate": verbs.migrate,
    "save": lambda world, instance: verbs.save_image(world, instance, "my/image:1"),
    "upgrade": lambda world, instance: verbs.upgrade(world, instance, Rebuild("other/image:2")),
    "edit": lambda world, instance: verbs.edit(world, instance, None, 10),
    "renew": lambda world, instance: verbs.renew(world, instance, 1),
    "monthly": lambda world, instance: verbs.to_monthly(world, instance, 1),
    "onDemand": verbs.to_on_demand,
    "reclaim": lambda world, instance: spot.force_notice(world, instance, 30),
    "pin": lambda world, instance: verbs.set_auto_migrate(world, instance, on=False, system_disk=False),
    "loseHost": lambda world, instance: (
        lose_host(world, instance) if instance.status is Status.RUNNING else None
    ),
}


class AnyHistory(RuleBasedStateMachine):
    """A few scarce GPUs, one account with some money, and callers without manners."""

    world: World

    @initialize()
    def begin(self) -> None:
        self.world = new_world(EPOCH, durations=Durations(spot_life_s=3_000))
        for mode in (Mode.ON_DEMAND, Mode.SPOT):
            fill(self.world, Shelf("4090.16c62g", "us-ca-6", mode, CAPACITY, CAPACITY))
        self.ever = {a_simulated_instance(self.world, Status.RUNNING, mode).id for mode in Mode}
        self.removed: set[str] = set()
        self.costs: dict[str, int] = {}

    @rule(mode=MODES)
    def create_one(self, mode: Mode) -> None:
        try:
            instance = create(self.world, an_order(mode))
        except Refusal:
            return
        assert instance.id not in self.ever
        self.ever.add(instance.id)

    @precondition(lambda self: self.world.instances)
    @rule(data=st.data(), act=st.sampled_from(sorted(ACTS)))
    def ask(self, data: st.DataObject, act: str) -> None:
        instance = data.draw(st.sampled_from(list(self.world.instances.values())))
        with suppress(Refusal):
            ACTS[act](self.world, instance)

    @rule(verb=st.sampled_from(sorted(VERBS)), outcome=st.sampled_from(list(Outcome)), data=st.data())
    def doom_the_next(self, verb: str, outcome: Outcome, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(stations(verb)))
        self.world.fates[verb] = deque([Fate(at, outcome, seconds=500)])

    @rule(seconds=st.sampled_from([0.1, 1, 7, 60, 3_600, 40_000, 800_000]))
    def wait(self, seconds: float) -> None:
        target = self.world.now + seconds
        self.world.advance(target)
        assert self.world.now == target
        due = self.world.next_due()
        assert due is None or due > target

    @invariant()
    def the_shelves_add_up(self) -> None:
        for mode in (Mode.ON_DEMAND, Mode.SPOT):
            shelf = self.world.shelves[shelf_id("4090.16c62g", "us-ca-6", mode)]
            held = sum(
                instance.gpu_num
                for instance in self.world.instances.values()
                if shelf_id(instance.product_id, instance.cluster_id, instance.mode) == shelf.id
                and instance.status in HOLDS_GPU
            )
            assert shelf.free >= 0
            assert shelf.free + held == shelf.capacity

    @invariant()
    def gpus_are_in_use_by_whoever_holds_them_and_may(self) -> None:
        holders = [each for each in self.world.instances.values() if each.status in HOLDS_GPU]
        assert self.world.wallet("default").gpus_in_use == sum(each.gpu_num for each in holders)
        assert not any(each.is_expired(self.world.now) for each in holders)

    @invariant()
    def only_a_run_has_dealings_with_the_market(self) -> None:
        for instance in self.world.instances.values():
            if instance.status not in HOLDS_GPU:
                assert not instance.timers.keys() & {Timer.SPOT_NOTICE, Timer.RECLAIM}
                assert instance.spot_status in {SpotStatus.NOT_SPOT, SpotStatus.TERMINATED}

    @invariant()
    def a_list_finds_everybody_as_they_are(self) -> None:
        fleet = self.world.fleet("default")
        for wanted in (*(Wanted({"status": frozenset({each})}) for each in Status), *MODES_WANTED):
            assert list(fleet.found(wanted)) == [each for each in fleet if wanted.fits(each)]

    @invariant()
    def the_ledger_only_grows_and_bills_by_status(self) -> None:
        for key, entry in self.world.ledger.items():
            cost = entry.cost_at(self.world.now)
            assert cost >= self.costs.get(key, 0)
            self.costs[key] = cost
            instance = self.world.instances.get(key)
            span = entry.running
            if instance is None:
                assert span is None
            else:
                assert (span is not None and span.has_gpu) == (instance.status in BILLED)
                assert span is None or instance.status in DISKS_BILLED

    @invariant()
    def the_removed_stay_removed(self) -> None:
        gone = self.ever - self.world.instances.keys()
        assert self.removed <= gone
        self.removed = gone
        assert all(self.world.ledger[key].removed_at > 0 for key in gone)
        assert self.world.wallet("default").instances_alive == len(self.world.instances)

    @invariant()
    def whoever_is_on_the_way_has_a_timer_unless_it_is_stuck(self) -> None:
        for instance in self.world.instances.values():
            assert_on_the_way(instance)


def assert_on_the_way(instance: Instance) -> None:
    fate = instance.fate
    is_stuck = fate is not None and fate.at is instance.status and fate.outcome is Outcome.STUCK
    assert (Timer.STATUS in instance.timers) is (instance.status in FOLLOWS and not is_stuck)


AnyHistory.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestAnyHistory = AnyHistory.TestCase
