"""The clock of a process: never put back, never slower than time itself, never behind the machine's."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ostler.clock import SteadyClock

STEPS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(-100_000, 100_000)), min_size=1)


class PutClock:
    """A machine's clock: time passes, and somebody puts the clock."""

    def __init__(self) -> None:
        self.passed_s = 0
        self.put_by_s = 0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed_s + self.put_by_s)

    def monotonic(self) -> float:
        return float(self.passed_s)

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError(seconds)


@given(STEPS)
def test_whatever_is_done_to_the_machines_clock_time_goes_on(steps: list[tuple[int, int]]) -> None:
    machine = PutClock()
    clock = SteadyClock(machine)
    last = clock.now()
    for passed_s, put_by_s in steps:
        machine.passed_s += passed_s
        machine.put_by_s += put_by_s
        now = clock.now()
        assert now == max(machine.now(), last + timedelta(seconds=passed_s))
        last = now
