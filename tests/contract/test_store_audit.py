"""The audit log as both databases keep it, and its lines in the transactions of what they tell of."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, text

from ostler.store.audit_log import (
    AuditEntry,
    AuditFilter,
    AuditOutcome,
    Means,
    append_entry,
    delete_entries,
    list_entries,
)
from ostler.store.database import Database
from ostler.usecases.audit import Deed, doing, write_signed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def an_entry(number: int = 0, **changes: object) -> AuditEntry:
    plain: dict[str, object] = {
        "at": NOW + number * DAY,
        "request_id": f"req_{number}",
        "means": Means.KEY,
        "address": "192.0.2.1",
        "action": "POST /api/instances",
        "outcome": AuditOutcome.DONE,
        "status": 201,
    }
    return AuditEntry(**(plain | changes))  # type: ignore[arg-type]  # of a test


async def written(database: Database, *entries: AuditEntry) -> None:
    def work(connection: Connection) -> None:
        for entry in entries:
            append_entry(connection, entry)

    await database.write(work)


async def requests_of(database: Database, **wanted: object) -> list[str]:
    found = await database.read(lambda connection: list_entries(connection, AuditFilter(**wanted)))  # type: ignore[arg-type]  # of a test
    return [entry.request_id for entry in found]


async def test_a_line_comes_back_as_it_was_written(database: Database) -> None:
    entry = an_entry(
        key_id="key_a",
        key_name="ann",
        role="admin",
        user_agent="curl/8",
        target_kind="instance",
        target_id="i-1",
        project="blue",
        fields=("gpuNum", "name"),
        code="FORBIDDEN",
    )
    await written(database, entry, an_entry(1))
    second, first = await database.read(lambda connection: list_entries(connection, AuditFilter()))
    assert first == AuditEntry(**{name: getattr(entry, name) for name in entry.__slots__} | {"id": first.id})
    assert second.key_id is None
    assert second.fields == ()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"key": "key_a"}, ["req_1"]),
        ({"key": "ann"}, ["req_1"]),
        ({"action": "DELETE /api/keys/{key_id}"}, ["req_2"]),
        ({"action": "DELETE *"}, ["req_2"]),
        ({"action": "DELETE %*"}, []),
        ({"instance_id": "i-1"}, ["req_1"]),
        ({"target_id": "i-1"}, ["req_2", "req_1"]),
        ({"project": "blue"}, ["req_2"]),
        ({"outcome": AuditOutcome.REFUSED}, ["req_0"]),
        ({"since": NOW + DAY, "until": NOW + 2 * DAY}, ["req_1"]),
        ({"limit": 2}, ["req_2", "req_1"]),
    ],
)
async def test_lines_are_found_by_what_they_say(
    database: Database, wanted: dict[str, object], found: list[str]
) -> None:
    await written(
        database,
        an_entry(0, outcome=AuditOutcome.REFUSED),
        an_entry(1, key_id="key_a", key_name="ann", target_kind="instance", target_id="i-1"),
        an_entry(2, action="DELETE /api/keys/{key_id}", target_kind="key", target_id="i-1", project="blue"),
    )
    assert await requests_of(database, **wanted) == found


async def test_old_lines_go_a_batch_at_a_time(database: Database) -> None:
    await written(database, *(an_entry(number) for number in range(5)))
    before = NOW + 3 * DAY
    went = [await database.write(lambda connection: delete_entries(connection, before, 2)) for _ in range(3)]
    assert went == [2, 1, 0]
    assert await requests_of(database) == ["req_4", "req_3"]


async def test_a_change_and_its_line_stand_or_fall_together(database: Database) -> None:
    deed = Deed(an_entry)

    def fails(connection: Connection) -> None:
        connection.execute(text("SELECT 1"))
        message = "after all"
        raise LookupError(message)

    with doing(deed):
        with pytest.raises(LookupError):
            await write_signed(database, fails)
        assert deed.signed is None
        assert await requests_of(database) == []
        await write_signed(database, lambda _: None, is_change=lambda _: False)
        assert deed.signed is None
        await write_signed(database, lambda _: None)
    assert deed.signed == an_entry()
    await write_signed(database, lambda _: None)  # of nobody's request
    assert await requests_of(database) == ["req_0"]
