"""Recording a change: what is written with it, what is not, and that sinks stand or fall with it."""

from dataclasses import dataclass, field, replace

import pytest
from sqlalchemy import Connection

from ostler.domain.catalogue import BillingMode
from ostler.domain.errors import Missing
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Change
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey
from ostler.domain.outcomes import gone
from ostler.domain.work import Work, WorkKind
from ostler.store.events import EventRow, time_line
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.store.instances import InstanceRow, Placement, find_instance, insert_instance
from ostler.store.ledger import intervals_of
from ostler.usecases.record import Edit, Occasion, Recorder, topic_of
from tests.support.builders import INSTANCE_ID, NOW, after, an_instance
from tests.support.cloud import LoopClock

pytestmark = pytest.mark.looptime


@dataclass
class Bench:
    """A recorder on an empty database, its desk and its sink open to be looked into."""

    database: InlineDatabase
    asked: list[Work] = field(default_factory=list)
    heard: list[EventRow] = field(default_factory=list)
    is_sink_broken: bool = False

    @property
    def recorder(self) -> Recorder:
        return Recorder(lambda _, work: self.asked.append(work), [self._hear])

    def _hear(self, _: Connection, event: EventRow, row: InstanceRow | None) -> None:
        assert row is not None
        if self.is_sink_broken:
            raise OSError
        self.heard.append(event)

    async def row(self) -> InstanceRow:
        found = await self.database.read(lambda connection: find_instance(connection, INSTANCE_ID))
        assert found is not None
        return found


@pytest.fixture
async def bench() -> Bench:
    bench = Bench(InlineDatabase(InlineStorage(LoopClock())))
    row = InstanceRow(an_instance(), changed_at=NOW)
    await bench.database.write(lambda connection: insert_instance(connection, row, None))
    return bench


async def test_a_change_is_written_with_its_events_and_its_work(bench: Bench) -> None:
    topics: list[str] = []
    bench.database.signals.listen(topic_of(INSTANCE_ID), lambda: topics.append("heard"))
    change = gone(an_instance(), after(5)).asking(WorkKind.REFRESH)

    def work(connection: Connection) -> None:
        bench.recorder.apply(connection, INSTANCE_ID, lambda _: change, Occasion(after(5), "somebody"))

    await bench.database.write(work)
    await LoopClock().sleep(0.01)
    row = await bench.row()
    [event] = await bench.database.read(lambda connection: time_line(connection, INSTANCE_ID))
    assert (row.instance.state, row.sequence, row.changed_at) == (State.TERMINATED, 1, after(5))
    assert (event.name, event.actor, event.sequence) == (PublicEvent.TERMINATED, "somebody", 1)
    assert bench.heard == [event]
    assert bench.asked == [Work(WorkKind.REFRESH, INSTANCE_ID)]
    assert topics == ["heard"]


async def test_what_was_only_seen_again_is_not_written_but_its_work_is_asked_for(bench: Bench) -> None:
    before = await bench.row()
    seen = Change(replace(an_instance(), observed_at=after(99))).asking(WorkKind.REFRESH)

    def work(connection: Connection) -> None:
        bench.recorder.apply(connection, INSTANCE_ID, lambda _: seen, Occasion(after(99)))

    await bench.database.write(work)
    assert await bench.row() == before
    assert bench.asked == [Work(WorkKind.REFRESH, INSTANCE_ID)]


async def test_a_sink_that_fails_takes_the_change_with_it(bench: Bench) -> None:
    bench.is_sink_broken = True
    before = await bench.row()

    def work(connection: Connection) -> None:
        bench.recorder.apply(
            connection, INSTANCE_ID, lambda instance: gone(instance, after(5)), Occasion(after(5))
        )

    with pytest.raises(OSError):  # noqa: PT011 -- the sink's own
        await bench.database.write(work)
    assert await bench.row() == before


async def test_an_instance_that_is_not_there_is_missing(bench: Bench) -> None:
    with pytest.raises(Missing):
        await bench.database.write(lambda connection: bench.recorder.lock(connection, "nobody"))


async def test_an_event_about_no_instance_is_told_without_a_number(bench: Bench) -> None:
    recorder = Recorder(lambda _, __: None)
    event = EventRow(PublicEvent.ACCOUNT_SUSPECT, NOW, reason="half of it is missing", is_alarm=True)
    told = await bench.database.write(lambda connection: recorder.tell(connection, event))
    assert told == replace(event, id=1)


async def test_a_price_that_changes_closes_one_interval_and_opens_the_next(bench: Bench) -> None:
    offer = OfferKey("p", "r", BillingMode.SPOT)

    def place(connection: Connection, units: int, seconds: float) -> None:
        before = bench.recorder.lock(connection, INSTANCE_ID)
        placement = Placement(1, offer, "R", "4090", Usd(units))
        edit = Edit(Change(before.instance), placement=placement)
        bench.recorder.write(connection, before, edit, Occasion(after(seconds)))

    for units, seconds in ((100, 10.0), (100, 15.0), (200, 20.0)):
        await bench.database.write(lambda connection, u=units, s=seconds: place(connection, u, s))  # type: ignore[misc]
    rows = await bench.database.read(lambda connection: intervals_of(connection, [INSTANCE_ID]))
    spans = [(row.interval.price_per_hour.units, row.interval.from_at, row.interval.to_at) for row in rows]
    assert spans == [(100, after(10), after(20)), (200, after(20), None)]
