"""Stamps: every change of what is told of an instance changes its stamp, and none hides behind a commit."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ostler.domain.ledger import Interval, IntervalSource, IntervalState
from ostler.domain.money import Usd
from ostler.domain.readiness import Overall
from ostler.store.database import Database
from ostler.store.health_reports import HealthReport, put_report
from ostler.store.instances import InstanceRow, find_instance, insert_instance, mark_used, update_instance
from ostler.store.ledger import correct_interval, intervals_of, open_interval
from ostler.store.looks import LookRow, put_look
from ostler.store.stamps import Stamps
from tests.support.builders import NOW, an_instance
from tests.support.databases import opened

_ID = "i-1"
_RUNNING = Interval(_ID, IntervalState.COMPUTE, Usd(1), NOW, None, IntervalSource.CLOUD, timedelta(0))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(f"sqlite:///{tmp_path}/ostler.db") as database:
        await database.write(_fill)
        yield database


def _fill(connection: Connection) -> None:
    insert_instance(connection, InstanceRow(replace(an_instance(), id=_ID)), None)
    open_interval(connection, "u-1", _RUNNING)


def _update(connection: Connection) -> None:
    row = find_instance(connection, _ID)
    assert row is not None
    update_instance(connection, row, replace(row, changed_at=NOW))


def _correct(connection: Connection) -> None:
    row = intervals_of(connection, [_ID])[0]
    correct_interval(connection, row, replace(row.interval, to_at=NOW))


@pytest.mark.parametrize(
    "change",
    [
        _update,
        _correct,
        lambda connection: mark_used(connection, _ID, NOW),
        lambda connection: put_look(connection, LookRow(_ID, "u-1", "{}", None, NOW)),
        lambda connection: put_report(connection, HealthReport(_ID, Overall.HEALTHY, (), 0, NOW)),
    ],
)
async def test_every_change_changes_the_stamp(
    database: Database, change: Callable[[Connection], object]
) -> None:
    assert database.stamps is not None
    before = database.stamps.of(_ID), database.stamps.of_all()
    await database.write(change)
    after = database.stamps.of(_ID), database.stamps.of_all()
    assert None not in {*before, *after}
    assert after[0] != before[0]
    assert after[1] != before[1]


async def test_a_change_that_is_not_kept_and_one_of_another_leave_the_stamp(database: Database) -> None:
    def fail(connection: Connection) -> None:
        _update(connection)
        raise LookupError

    assert database.stamps is not None
    before = database.stamps.of(_ID)
    with pytest.raises(LookupError):
        await database.write(fail)
    other = InstanceRow(replace(an_instance(), id="i-2", upstream_id="u-2"))
    await database.write(lambda connection: insert_instance(connection, other, None))
    assert database.stamps.of(_ID) == before


def test_there_is_no_stamp_while_a_commit_is_under_way() -> None:
    stamps = Stamps()
    before = stamps.of("a"), stamps.of_all()
    with stamps.changing({"a"}):
        assert (stamps.of("a"), stamps.of_all()) == (None, None)
        assert stamps.of("b") is not None
    assert {stamps.of("a"), stamps.of_all()}.isdisjoint({*before, None})
