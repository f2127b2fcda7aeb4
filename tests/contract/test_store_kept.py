"""What is kept beside instances: events, intervals, sightings, answers, looks; on both databases."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ostler.domain.events import PublicEvent
from ostler.domain.kinship import Kinship
from ostler.domain.ledger import Interval, IntervalSource, IntervalState
from ostler.domain.marks import Mark
from ostler.domain.money import Usd
from ostler.domain.readiness import Overall
from ostler.domain.upstream import UpstreamState
from ostler.store import product_starts
from ostler.store.adopted_installs import adopt, adopted_install_ids
from ostler.store.catalogue_snapshots import (
    Snapshot,
    all_snapshots,
    delete_snapshots,
    find_snapshot,
    put_snapshot,
)
from ostler.store.database import Database
from ostler.store.events import (
    EventFilter,
    EventRow,
    append_event,
    delete_events,
    find_event,
    first_kept_id,
    last_event,
    last_id_given,
    read_events,
    time_line,
)
from ostler.store.health_reports import HealthReport, find_report, put_report
from ostler.store.idempotency import RequestKey, delete_answers, find_answer, forget_answer, keep_answer
from ostler.store.installation import claim_install_id, find_install_id
from ostler.store.instances import InstanceRow, insert_instance
from ostler.store.ledger import (
    LedgerRow,
    close_interval,
    correct_interval,
    intervals_between,
    intervals_of,
    open_interval,
    open_intervals,
)
from ostler.store.looks import LookRow, find_look, put_look
from ostler.store.sightings import (
    Sighting,
    all_sightings,
    drop_sightings,
    find_sighting,
    put_sightings,
    sightings_of,
)
from tests.support.builders import INSTANCE_ID, NOW, UPSTREAM_ID, after, an_endpoint, an_instance


def _event(
    sequence: int, name: PublicEvent = PublicEvent.RUNNING, instance_id: str = INSTANCE_ID
) -> EventRow:
    return EventRow(name, after(sequence), instance_id, sequence, project="p", details={"n": sequence})


def _instance(connection: Connection) -> None:
    insert_instance(connection, InstanceRow(an_instance()), None)


async def test_an_event_comes_back_as_it_was_told(database: Database) -> None:
    event = EventRow(
        PublicEvent.DELETE_STUCK,
        NOW,
        INSTANCE_ID,
        7,
        project="p",
        from_state="running",
        to_state="terminating",
        reason="why, “quoted”",
        is_alarm=True,
        actor="somebody",
        operation_id="op-1",
        elapsed=timedelta(microseconds=1_234_567),
        details={"a": [1, {"b": None}]},
    )
    event_id = await database.write(lambda connection: append_event(connection, event))
    assert await database.read(lambda connection: find_event(connection, event_id)) == replace(
        event, id=event_id
    )


async def test_the_log_is_read_in_its_order_after_an_id_and_by_what_is_wanted(database: Database) -> None:
    def work(connection: Connection) -> list[int]:
        told = [
            _event(1),
            _event(2, PublicEvent.READY),
            _event(1, instance_id="other"),
            EventRow(PublicEvent.ACCOUNT_SUSPECT, NOW),
        ]
        return [append_event(connection, event) for event in told]

    ids = await database.write(work)

    async def found(wanted: EventFilter) -> list[int]:
        return [event.id for event in await database.read(lambda connection: read_events(connection, wanted))]

    assert ids == sorted(ids)
    assert await found(EventFilter()) == ids
    assert await found(EventFilter(after_id=ids[0], up_to_id=ids[2])) == ids[1:3]
    assert await found(EventFilter(instance_id=INSTANCE_ID, limit=1)) == ids[:1]
    assert await found(EventFilter(names=[PublicEvent.READY])) == [ids[1]]
    assert await found(EventFilter(project="p")) == ids[:3]
    assert await database.read(last_id_given) == ids[-1]


async def test_a_time_line_holds_each_number_once(database: Database) -> None:
    def work(connection: Connection) -> None:
        append_event(connection, _event(1))
        append_event(connection, _event(2, PublicEvent.READY))

    await database.write(work)
    line = await database.read(lambda connection: time_line(connection, INSTANCE_ID, after=1))
    last = await database.read(lambda connection: last_event(connection, INSTANCE_ID, PublicEvent.RUNNING))
    assert [event.sequence for event in line] == [2]
    assert last is not None
    assert last.sequence == 1
    with pytest.raises(IntegrityError):
        await database.write(lambda connection: append_event(connection, _event(2)))


async def test_ids_go_on_growing_after_the_log_was_thinned(database: Database) -> None:
    def fill(connection: Connection) -> list[int]:
        return [append_event(connection, _event(number)) for number in (1, 2, 3)]

    ids = await database.write(fill)
    assert await database.write(lambda connection: delete_events(connection, after(9), 10)) == 3
    assert await database.read(first_kept_id) == 0
    assert await database.write(lambda connection: append_event(connection, _event(4))) > ids[-1]


async def test_an_interval_is_opened_closed_and_corrected_by_a_row_of_its_own(database: Database) -> None:
    interval = Interval(
        INSTANCE_ID, IntervalState.COMPUTE, Usd(35_000), NOW, uncertainty=timedelta(seconds=3)
    )

    def work(connection: Connection) -> tuple[LedgerRow, LedgerRow, list[LedgerRow]]:
        _instance(connection)
        open_interval(connection, UPSTREAM_ID, interval)
        [opened] = open_intervals(connection, INSTANCE_ID)
        close_interval(connection, opened, after(60))
        [closed] = intervals_of(connection, [INSTANCE_ID])
        true = replace(closed.interval, to_at=after(55), source=IntervalSource.CLOUD, uncertainty=timedelta())
        correct_interval(connection, closed, true)
        return opened, closed, list(intervals_of(connection, [INSTANCE_ID]))

    opened, closed, counting = await database.write(work)
    assert opened.interval == interval
    assert closed.interval == replace(interval, to_at=after(60))
    assert [(row.interval.to_at, row.interval.source, row.replaces) for row in counting] == [
        (after(55), IntervalSource.CLOUD, opened.id)
    ]
    between = await database.read(lambda connection: intervals_between(connection, after(50), after(52)))
    assert [row.id for row in between] == [counting[0].id]
    assert await database.read(lambda connection: intervals_between(connection, after(56), after(99))) == []


async def test_an_interval_never_ends_before_it_began_and_an_upstream_has_one_open(
    database: Database,
) -> None:
    interval = Interval(INSTANCE_ID, IntervalState.COMPUTE, Usd(1), NOW)

    def work(connection: Connection) -> LedgerRow:
        _instance(connection)
        open_interval(connection, UPSTREAM_ID, interval)
        [row] = open_intervals(connection, INSTANCE_ID)
        return row

    row = await database.write(work)
    with pytest.raises(IntegrityError):
        await database.write(lambda connection: open_interval(connection, UPSTREAM_ID, interval))
    await database.write(lambda connection: close_interval(connection, row, after(-60)))
    [closed] = await database.read(lambda connection: intervals_of(connection, [INSTANCE_ID]))
    assert closed.interval.to_at == NOW


async def test_what_is_seen_is_kept_with_when_it_was_first_seen(database: Database) -> None:
    first = Sighting(
        upstream_id=UPSTREAM_ID,
        name="demo--os-home-abc-2",
        kinship=Kinship.ORPHAN,
        mark=Mark("home", "abc", 2),
        state=UpstreamState.RUNNING,
        word="running",
        region="US-CA-06",
        product_name="RTX 4090 24GB",
        gpus=2,
        price_per_hour=Usd(70_000),
        created_at=NOW,
        first_seen_at=NOW,
        last_seen_at=NOW,
    )
    stranger = replace(first, upstream_id="other", kinship=Kinship.STRANGER, mark=None, price_per_hour=None)
    again = replace(
        first, word="exited", state=UpstreamState.EXITED, first_seen_at=after(9), last_seen_at=after(9)
    )

    def work(connection: Connection) -> None:
        put_sightings(connection, [first, stranger])
        put_sightings(connection, [again])

    await database.write(work)
    assert await database.read(lambda connection: find_sighting(connection, UPSTREAM_ID)) == replace(
        again, first_seen_at=NOW
    )
    assert await database.read(lambda connection: sightings_of(connection, "abc")) == [
        replace(again, first_seen_at=NOW)
    ]
    assert await database.read(lambda connection: all_sightings(connection, [Kinship.STRANGER])) == [stranger]
    await database.write(lambda connection: drop_sightings(connection, [UPSTREAM_ID, "other"]))
    assert await database.read(all_sightings) == []


async def test_an_answer_is_kept_once_per_key_and_forgotten_when_old(database: Database) -> None:
    key = RequestKey("holder", "POST /x", "k", "hash")
    await database.write(lambda connection: keep_answer(connection, key, {"a": "1"}, NOW))
    with pytest.raises(IntegrityError):
        await database.write(lambda connection: keep_answer(connection, key, {"a": "2"}, NOW))
    found = await database.read(lambda connection: find_answer(connection, replace(key, body_hash="other")))
    assert found is not None
    assert (found.body_hash, found.answer, found.answered_at) == ("hash", {"a": "1"}, NOW)
    assert await database.read(lambda connection: find_answer(connection, replace(key, holder="x"))) is None
    await database.write(lambda connection: forget_answer(connection, key))
    await database.write(lambda connection: keep_answer(connection, key, {}, NOW))
    assert await database.write(lambda connection: delete_answers(connection, after(1), 1)) == 1


async def test_a_snapshot_gives_way_to_a_newer_one_only(database: Database) -> None:
    def work(connection: Connection) -> list[Snapshot]:
        for content, seconds in (("one", 1), ("two", 2), ("late", 0)):
            put_snapshot(connection, Snapshot("regions", content, after(seconds)))
        return list(all_snapshots(connection))

    assert await database.write(work) == [Snapshot("regions", "two", after(2))]
    assert await database.write(lambda connection: delete_snapshots(connection, after(9))) == 1
    assert await database.read(lambda connection: find_snapshot(connection, "regions")) is None


async def test_a_look_gives_way_to_a_newer_one_or_to_one_at_another_upstream(database: Database) -> None:
    look = LookRow(INSTANCE_ID, UPSTREAM_ID, "{}", b"sealed", after(5))
    older = replace(look, content="old", observed_at=NOW)
    other = replace(older, upstream_id="new", passwords=None)

    def work(connection: Connection) -> list[LookRow | None]:
        _instance(connection)
        seen = []
        for each in (look, replace(look, passwords=None), older, other):
            put_look(connection, each)
            seen.append(find_look(connection, INSTANCE_ID))
        return seen

    assert await database.write(work) == [look, look, look, other]


async def test_a_round_of_checks_comes_back_as_it_was(database: Database) -> None:
    report = HealthReport(
        INSTANCE_ID, Overall.PARTIAL, (an_endpoint(), an_endpoint(healthy=False, port=9)), 3, NOW
    )

    def work(connection: Connection) -> HealthReport | None:
        _instance(connection)
        put_report(connection, replace(report, failed_rounds=2))
        put_report(connection, report)
        return find_report(connection, INSTANCE_ID)

    assert await database.write(work) == report


async def test_the_first_proposal_becomes_the_id_of_the_installation(database: Database) -> None:
    assert await database.read(find_install_id) is None
    assert await database.write(lambda connection: claim_install_id(connection, "first", NOW)) == "first"
    assert await database.write(lambda connection: claim_install_id(connection, "second", NOW)) == "first"
    assert await database.write(lambda connection: adopt(connection, "old", "somebody", NOW))
    assert not await database.write(lambda connection: adopt(connection, "old", "somebody", NOW))
    assert await database.read(adopted_install_ids) == {"old"}


async def test_only_the_last_starts_of_a_product_are_kept_newest_last(database: Database) -> None:
    def work(connection: Connection) -> list[float]:
        for number in range(product_starts.KEPT + 5):
            product_starts.add_start(connection, "4090", timedelta(seconds=number), NOW)
        product_starts.add_start(connection, "other", timedelta(seconds=1), NOW)
        return [took.total_seconds() for took in product_starts.last_starts(connection, "4090")]

    assert await database.write(work) == [float(number) for number in range(5, product_starts.KEPT + 5)]
