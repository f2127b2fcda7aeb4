"""How far the log is settled when commits do not come in the order of ids, against a model of the writers."""

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.notify.horizon import Horizon, Mark
from ostler.store.inline import InlineDatabase, InlineStorage
from tests.support.cloud import LoopClock


@pytest.fixture(scope="module")
def database() -> Iterator[InlineDatabase]:
    storage = InlineStorage(LoopClock())
    with contextlib.closing(storage):
        yield InlineDatabase(storage)


class Writers:
    """Transactions that take ids and end, in any order."""

    def __init__(self) -> None:
        self.given = 0
        self.open: dict[str, set[int]] = {}
        self.ended: set[int] = set()
        self._count = 0

    def begin(self) -> None:
        self._count += 1
        self.open[f"t{self._count}"] = set()

    def take(self, which: int) -> None:
        if self.open:
            self.given += 1
            self.open[sorted(self.open)[which % len(self.open)]].add(self.given)

    def end(self, which: int) -> None:
        if self.open:
            self.ended |= self.open.pop(sorted(self.open)[which % len(self.open)])

    @property
    def mark(self) -> Mark:
        return Mark(self.given, frozenset(self.open))


STEPS = st.lists(
    st.tuples(st.sampled_from(["begin", "take", "take", "end", "look"]), st.integers(0, 9)), max_size=80
)


@given(steps=STEPS)
def test_nothing_appears_behind_the_horizon_and_it_reaches_everything(
    database: InlineDatabase, steps: list[tuple[str, int]]
) -> None:
    writers, horizon = Writers(), Horizon(database)
    last = 0
    for step, which in steps:
        match step:
            case "begin":
                writers.begin()
            case "take":
                writers.take(which)
            case "end":
                writers.end(which)
            case _:
                settled = horizon.note(writers.mark).settled_id
                assert settled >= last
                assert set(range(1, settled + 1)) <= writers.ended
                last = settled
    while writers.open:
        writers.end(0)
    reached = horizon.note(writers.mark)
    assert (reached.settled_id, reached.is_behind) == (writers.given, False)


def test_a_transaction_that_lasts_does_not_fill_the_memory(database: InlineDatabase) -> None:
    horizon = Horizon(database)
    for given_id in range(1, 1000):
        assert horizon.note(Mark(given_id, frozenset({"long"}))).is_behind
    assert len(horizon._marks) < 300
    assert horizon.note(Mark(999, frozenset())).settled_id == 999
