"""The lanes in virtual time: rate, precedence, reserve, order, fairness and what a cancelled waiter costs."""

import asyncio
import itertools
from collections.abc import Coroutine
from dataclasses import dataclass

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.cloud.lane import Lane
from ostler.cloud.lanes import Allowance, Lanes

MINUTE = 60.0


@dataclass
class Gate:
    """Lets callers through lanes and remembers when who went."""

    lanes: Lanes
    hold_s: float = 0.0

    def __post_init__(self) -> None:
        self.gone: list[tuple[float, Lane, int]] = []

    async def go(self, lane: Lane, number: int = 0, *, is_command: bool = True) -> float:
        waited = await self.lanes.enter(lane, is_command=is_command)
        self.gone.append((asyncio.get_running_loop().time(), lane, number))
        try:
            await asyncio.sleep(self.hold_s)  # noqa: TID251 -- virtual time
        finally:
            self.lanes.leave(lane)
        return waited

    def start(self, lane: Lane, count: int, *, is_command: bool = True) -> list[asyncio.Task[float]]:
        return [asyncio.create_task(self.go(lane, each, is_command=is_command)) for each in range(count)]

    def instants(self, lane: Lane | None = None) -> list[float]:
        return [at for at, gone, _ in self.gone if lane is None or gone is lane]


async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds)  # noqa: TID251 -- virtual time


def a_gate(per_minute: int = 100, in_flight: int = 1000, hold_s: float = 0.0) -> Gate:
    return Gate(Lanes(Allowance(per_minute, in_flight)), hold_s)


def most_within(instants: list[float], window_s: float) -> int:
    """Return the most calls that any window of this length has seen."""
    return max((sum(start <= at < start + window_s for at in instants) for start in instants), default=0)


def in_virtual_time(scenario: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.run(scenario)


@pytest.mark.looptime
async def test_no_minute_ever_sees_more_calls_than_the_limit() -> None:
    gate = a_gate(per_minute=100)
    await asyncio.gather(*gate.start(Lane.USER, 400))
    assert most_within(gate.instants(), MINUTE) <= 100


@pytest.mark.looptime
async def test_the_limit_is_used_and_not_only_kept() -> None:
    gate = a_gate(per_minute=100)
    await asyncio.gather(*gate.start(Lane.USER, 400))
    # 20 at once, then 80 a minute
    assert gate.instants()[-1] == pytest.approx(380 / 80 * MINUTE, abs=0.1)


@pytest.mark.looptime
async def test_an_idle_hour_saves_up_no_more_than_one_burst() -> None:
    gate = a_gate(per_minute=100)
    await gate.go(Lane.USER)
    await pause(3600)
    await asyncio.gather(*gate.start(Lane.USER, 200))
    assert most_within(gate.instants(), MINUTE) <= 100


@pytest.mark.looptime
@pytest.mark.parametrize("lane", Lane)
async def test_a_stop_overtakes_a_thousand_queued_reads_whoever_reads(lane: Lane) -> None:
    gate = a_gate(per_minute=100)
    reads = gate.start(lane, 1000, is_command=False)
    await pause(30)
    assert await gate.go(Lane.USER) == 0.0
    for read in reads:
        read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)


@pytest.mark.looptime
async def test_ten_tokens_stay_reserved_for_users() -> None:
    gate = a_gate(per_minute=100)
    others = gate.start(Lane.BACKGROUND, 200) + gate.start(Lane.WATCHER, 200)
    await pause(60)
    waits = await asyncio.gather(*gate.start(Lane.USER, 10))
    assert waits == [0.0] * 10
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@pytest.mark.looptime
async def test_the_watcher_takes_at_most_half_of_the_rate() -> None:
    gate = a_gate(per_minute=100)
    await asyncio.gather(*gate.start(Lane.WATCHER, 200))
    assert most_within(gate.instants(), MINUTE) <= 50


@pytest.mark.looptime
async def test_the_watcher_goes_before_the_background() -> None:
    gate = a_gate(per_minute=60)
    tasks = gate.start(Lane.USER, 12)  # spends the burst
    tasks += gate.start(Lane.BACKGROUND, 5) + gate.start(Lane.WATCHER, 2)
    await asyncio.gather(*tasks)
    order = [lane for _, lane, _ in gate.gone if lane is not Lane.USER]
    assert order[0] is Lane.WATCHER


@pytest.mark.looptime
async def test_within_a_lane_the_first_to_come_is_the_first_to_go() -> None:
    gate = a_gate(per_minute=30, in_flight=2, hold_s=0.5)
    await asyncio.gather(*gate.start(Lane.BACKGROUND, 40))
    assert [number for _, _, number in gate.gone] == list(range(40))


@pytest.mark.looptime
async def test_the_wait_is_measured() -> None:
    gate = a_gate(per_minute=60)
    waits = await asyncio.gather(*gate.start(Lane.USER, 13))
    assert waits[:12] == [0.0] * 12
    assert waits[12] == pytest.approx(MINUTE / 48, abs=0.01)


@pytest.mark.looptime
async def test_without_a_rate_nobody_waits() -> None:
    gate = a_gate(per_minute=0)
    waits = await asyncio.gather(*gate.start(Lane.BACKGROUND, 900 // 2))
    assert set(waits) == {0.0}


@pytest.mark.looptime
async def test_slots_in_flight_are_bounded_and_some_are_kept_for_users() -> None:
    gate = a_gate(per_minute=0, in_flight=32, hold_s=10)
    others = gate.start(Lane.BACKGROUND, 100)
    await pause(1)
    assert gate.lanes.snapshot().in_flight[Lane.BACKGROUND] == 24
    users = gate.start(Lane.USER, 20)
    await pause(1)
    assert gate.lanes.snapshot().in_flight[Lane.USER] == 8
    assert gate.lanes.snapshot().queued == {Lane.USER: 12, Lane.WATCHER: 0, Lane.BACKGROUND: 76}
    await asyncio.gather(*others, *users)


@pytest.mark.looptime
async def test_reads_that_hang_leave_slots_for_what_a_user_commands() -> None:
    gate = a_gate(per_minute=0, in_flight=32, hold_s=10)
    reads = gate.start(Lane.USER, 100, is_command=False)
    await pause(1)
    assert gate.lanes.snapshot().in_flight[Lane.USER] == 28
    assert await asyncio.gather(*gate.start(Lane.USER, 4)) == [0.0] * 4
    await asyncio.gather(*reads)


@pytest.mark.looptime
async def test_a_waiter_that_gives_up_costs_no_token() -> None:
    gate = a_gate(per_minute=60)
    await asyncio.gather(*gate.start(Lane.USER, 12))
    quitters = gate.start(Lane.USER, 50)
    await pause(0.1)
    for quitter in quitters:
        quitter.cancel()
    await asyncio.gather(*quitters, return_exceptions=True)
    waited = await gate.go(Lane.USER)
    assert waited <= MINUTE / 48


@pytest.mark.looptime
async def test_a_waiter_cancelled_in_the_moment_of_its_turn_gives_everything_back() -> None:
    gate = a_gate(per_minute=60, in_flight=1)
    await asyncio.gather(*gate.start(Lane.USER, 10))
    await gate.lanes.enter(Lane.USER, is_command=True)
    quitter = asyncio.create_task(gate.lanes.enter(Lane.USER, is_command=True))
    await asyncio.wait({quitter}, timeout=0)
    gate.lanes.leave(Lane.USER)  # the turn of the quitter comes, with the last token,
    quitter.cancel()  # before it can take it
    await asyncio.wait({quitter})
    assert quitter.cancelled()
    assert await gate.go(Lane.USER) == 0.0


@pytest.mark.looptime
async def test_when_the_cloud_asks_for_silence_nobody_goes_before_its_end() -> None:
    gate = a_gate(per_minute=0)
    gate.lanes.hold(30)
    began = asyncio.get_running_loop().time()
    await asyncio.gather(gate.go(Lane.USER), gate.go(Lane.BACKGROUND))
    assert min(gate.instants()) == pytest.approx(began + 30, abs=0.001)


@pytest.mark.looptime
async def test_a_shorter_silence_does_not_end_a_longer_one() -> None:
    gate = a_gate(per_minute=0)
    gate.lanes.hold(30)
    gate.lanes.hold(1)
    assert gate.lanes.snapshot().held_for_s == pytest.approx(30)


@pytest.mark.looptime
async def test_no_silence_lasts_longer_than_five_minutes() -> None:
    gate = a_gate(per_minute=0)
    gate.lanes.hold(86_400)
    assert gate.lanes.snapshot().held_for_s == pytest.approx(300)


@pytest.mark.parametrize("per_minute", [1, 2, 3, 5, 9, 10, 50, 100, 1000])
def test_burst_and_steady_rate_together_keep_the_minute_at_any_limit(per_minute: int) -> None:
    allowance = Allowance(per_minute, in_flight=32)
    assert allowance.burst + allowance.steady_per_minute <= max(per_minute, 2)
    assert 0 <= allowance.user_tokens < allowance.burst


arrivals = st.lists(
    st.tuples(
        st.floats(0, 120).map(lambda at: round(at, 2)),
        st.sampled_from(list(Lane)),
        st.one_of(st.none(), st.floats(0, 30).map(lambda after: round(after, 2))),  # gives up after
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(arrivals=arrivals, per_minute=st.integers(2, 120), in_flight=st.integers(1, 8))
def test_whoever_comes_when_the_rules_hold(
    arrivals: list[tuple[float, Lane, float | None]], per_minute: int, in_flight: int
) -> None:
    async def scenario() -> None:
        gate = a_gate(per_minute, in_flight, hold_s=0.2)
        numbers = itertools.count()
        patient: set[int] = set()

        async def arrive(at: float, lane: Lane, patience: float | None) -> None:
            await pause(at)
            number = next(numbers)
            if patience is None:
                patient.add(number)
            try:
                async with asyncio.timeout(patience):
                    await gate.go(lane, number)
            except TimeoutError:
                return

        await asyncio.gather(*(arrive(*arrival) for arrival in arrivals))
        # never more than the limit in any minute (a hair less than a minute: float edges)
        assert most_within(gate.instants(), MINUTE - 0.01) <= per_minute
        for lane in Lane:
            gone = [number for _, of, number in gate.gone if of is lane]
            assert gone == sorted(gone)
        # nobody was forgotten: the patient all went, and nothing is left in flight
        assert patient <= {number for _, _, number in gate.gone}
        seen = gate.lanes.snapshot()
        assert set(seen.in_flight.values()) == {0}
        assert set(seen.queued.values()) == {0}

    in_virtual_time(scenario())


@settings(max_examples=30, deadline=None)
@given(
    others=st.integers(0, 300),
    users=st.integers(1, 30),
    later=st.floats(0, 60),
    per_minute=st.integers(10, 200),
)
def test_users_wait_for_users_only(others: int, users: int, later: float, per_minute: int) -> None:
    async def scenario() -> None:
        gate = a_gate(per_minute)
        crowd = gate.start(Lane.BACKGROUND, others) + gate.start(Lane.WATCHER, others)
        await pause(later)
        allowance = Allowance(per_minute, 1)
        waits = await asyncio.gather(*gate.start(Lane.USER, users))
        free = allowance.user_tokens if others else allowance.burst
        for place, waited in enumerate(waits):
            owed = max(0, place + 1 - free)
            assert waited <= owed * MINUTE / allowance.steady_per_minute + 0.01
        for task in crowd:
            task.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)

    in_virtual_time(scenario())
