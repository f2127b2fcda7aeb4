"""The Database port: what `write`, `read` and signals promise, on SQLite and PostgreSQL alike."""

import asyncio
import threading
from functools import partial

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError

from ostler.store.database import Database, StoreUnavailable
from ostler.store.instants import database_now
from ostler.store.signals import announce, on_commit
from tests.support.databases import opened

_INSERT = text("INSERT INTO notes (id) VALUES (:id)")


@pytest.fixture(autouse=True)
async def notes(database: Database) -> None:
    """Make a table of numbers to write to."""
    await database.write(lambda c: c.execute(text("CREATE TABLE notes (id INTEGER PRIMARY KEY)")).close())


def _defective_listener() -> None:
    raise IndexError


def _insert(connection: Connection, number: int) -> int:
    connection.execute(_INSERT, {"id": number})
    return number


def all_notes(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT id FROM notes ORDER BY id")).scalars())


async def test_a_write_answers_with_what_its_work_returned_and_is_read_afterwards(database: Database) -> None:
    assert await database.write(lambda c: _insert(c, 7)) == 7
    assert await database.read(all_notes) == [7]


async def test_a_write_that_raises_leaves_nothing_and_raises_to_its_caller(database: Database) -> None:
    def work(connection: Connection) -> None:
        _insert(connection, 1)
        raise KeyError

    with pytest.raises(KeyError):
        await database.write(work)
    assert await database.read(all_notes) == []


async def test_one_failing_write_among_many_at_once_hurts_no_other(database: Database) -> None:
    await database.write(lambda c: _insert(c, 13))
    results = await asyncio.gather(
        *(database.write(partial(_insert, number=number)) for number in range(40)), return_exceptions=True
    )
    failed = [number for number, result in enumerate(results) if isinstance(result, IntegrityError)]
    assert failed == [13]
    assert await database.read(all_notes) == list(range(40))


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises((DBAPIError, ProgrammingError)):
        await database.read(lambda c: _insert(c, 1))
    assert await database.read(all_notes) == []


async def test_a_read_sees_one_snapshot_from_beginning_to_end(database: Database) -> None:
    has_looked, may_go_on = threading.Event(), threading.Event()

    def look_twice(connection: Connection) -> tuple[list[int], list[int]]:
        before = all_notes(connection)
        has_looked.set()
        may_go_on.wait(10)
        return before, all_notes(connection)

    reading = asyncio.create_task(database.read(look_twice))
    await asyncio.to_thread(has_looked.wait, 10)
    await database.write(lambda c: _insert(c, 1))
    may_go_on.set()
    assert await reading == ([], [])


async def test_work_runs_off_the_event_loop(database: Database) -> None:
    loop_thread = threading.get_ident()
    assert await database.write(lambda _: threading.get_ident()) != loop_thread
    assert await database.read(lambda _: threading.get_ident()) != loop_thread


async def test_callbacks_and_signals_come_after_the_commit_and_before_the_caller_goes_on(
    database: Database,
) -> None:
    seen: list[str] = []
    stop = database.signals.listen("notes", lambda: seen.append("signal"))

    def work(connection: Connection) -> None:
        _insert(connection, 1)
        on_commit(connection, lambda: seen.append("callback"))
        announce(connection, "notes")
        announce(connection, "notes")
        seen.append("work")

    await database.write(work)
    # PostgreSQL's first connection for signals calls every listener, too, whenever it stands
    assert seen.index("work") < seen.index("callback")
    assert seen[seen.index("callback") :][:2] == ["callback", "signal"]
    assert database.is_exclusive <= (len(seen) == 3)
    stop()
    before = list(seen)
    await database.write(lambda c: announce(c, "notes"))
    assert seen == before


async def test_a_rolled_back_write_calls_nobody(database: Database) -> None:
    seen: list[str] = []

    def work(connection: Connection) -> None:
        on_commit(connection, lambda: seen.append("callback"))
        raise KeyError

    with pytest.raises(KeyError):
        await database.write(work)
    await database.write(lambda c: _insert(c, 1))
    assert seen == []


async def test_one_listener_that_raises_keeps_no_other_from_hearing(database: Database) -> None:
    seen: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: seen.append(type(context["exception"]).__name__)
    )
    database.signals.listen("notes", _defective_listener)
    database.signals.listen("notes", lambda: seen.append("second"))
    await database.write(lambda c: announce(c, "notes"))
    assert seen[:2] == ["IndexError", "second"]  # who has just begun to listen may be told again


async def test_a_cancelled_caller_leaves_a_whole_write_or_none(database: Database) -> None:
    is_running, may_go_on = threading.Event(), threading.Event()
    called: list[int] = []

    def slow(connection: Connection) -> None:
        _insert(connection, 1)
        is_running.set()
        may_go_on.wait(10)
        _insert(connection, 2)
        on_commit(connection, lambda: called.append(1))

    writing = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(is_running.wait, 10)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    may_go_on.set()
    await database.write(lambda c: _insert(c, 3))
    assert set(await database.read(all_notes)) >= {3}
    while len(await database.read(all_notes)) < 3:
        await database.read(lambda _: None)
    assert await database.read(all_notes) == [1, 2, 3]
    assert called == [1]


async def test_the_database_clock_stands_still_within_a_transaction_and_moves_between_them(
    database: Database,
) -> None:
    def twice(connection: Connection) -> tuple[object, object]:
        return connection.scalar(database_now().select()), connection.scalar(database_now().select())

    first, again = await database.write(twice)
    later, _ = await database.write(twice)
    assert first == again
    assert str(later) > str(first)


async def test_what_was_asked_before_closing_is_done_and_what_comes_after_is_refused(
    database_url: str,
) -> None:
    async with opened(database_url.replace("ostler.db", "other/other.db")) as other:
        writing = [asyncio.create_task(other.write(lambda c: c.scalar(text("SELECT 1")))) for _ in range(20)]
        await asyncio.gather(*writing)
        await other.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await other.write(lambda _: None)
        with pytest.raises(StoreUnavailable, match="closed"):
            await other.read(lambda _: None)
