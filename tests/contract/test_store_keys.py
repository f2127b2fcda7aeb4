"""Keys and sessions as both databases keep them, and the book that is made of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ostler.clock import SystemClock
from ostler.domain.keys import Grant, Holder, digest_of
from ostler.domain.roles import Role
from ostler.store.api_keys import (
    ApiKeyRow,
    KeyFilter,
    find_key,
    insert_key,
    list_keys,
    living_keys,
    note_uses,
    revoke_key,
)
from ostler.store.database import Database
from ostler.store.sessions import MOST_PER_KEY, SessionRow, living_sessions, open_session
from ostler.usecases.ids import Ids
from ostler.usecases.key_book import ADMINISTRATOR, KeyBook, Pass
from ostler.usecases.keys import Keys
from tests.support.databases import opened

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_row(key_id: str, *, project: str | None = None, expires_at: datetime | None = None) -> ApiKeyRow:
    holder = Holder(key_id, f"holder of {key_id}", Grant(Role.VIEWER, project, expires_at))
    return ApiKeyRow(holder, digest_of(key_id), NOW, "ann")


def a_session(number: int, key_id: str = "key_a", opened_at: datetime = NOW) -> SessionRow:
    return SessionRow(number.to_bytes(32), key_id, opened_at, opened_at + HOUR)


async def written(database: Database, *rows: ApiKeyRow) -> None:
    for row in rows:
        await database.write(lambda connection, row=row: insert_key(connection, row))  # type: ignore[misc]


async def ids_of(database: Database, wanted: KeyFilter) -> list[str]:
    rows = await database.read(lambda connection: list_keys(connection, wanted))
    return [row.holder.key_id for row in rows]


async def test_a_key_comes_back_as_it_was_written(database: Database) -> None:
    row = a_row("key_a", project="blue", expires_at=NOW + HOUR)
    await written(database, row)
    assert await database.read(lambda connection: find_key(connection, "key_a")) == row
    assert await database.read(lambda connection: find_key(connection, "key_b")) is None


async def test_two_keys_never_share_a_digest(database: Database) -> None:
    await written(database, a_row("key_a"))
    twin = ApiKeyRow(a_row("key_b").holder, digest_of("key_a"), NOW, "ann")
    with pytest.raises(IntegrityError):
        await written(database, twin)


async def test_keys_are_listed_newest_first_in_pages_of_a_project(database: Database) -> None:
    await written(database, *(a_row(f"key_{n}", project="red" if n % 2 else None) for n in range(6)))
    await database.write(lambda connection: revoke_key(connection, "key_3", NOW))
    assert await ids_of(database, KeyFilter(limit=2)) == ["key_5", "key_4"]
    assert await ids_of(database, KeyFilter(before_id="key_4")) == ["key_2", "key_1", "key_0"]
    assert await ids_of(database, KeyFilter(project="red")) == ["key_5", "key_1"]
    assert await ids_of(database, KeyFilter(project="red", with_revoked=True)) == ["key_5", "key_3", "key_1"]


async def test_only_keys_that_are_good_let_anybody_in(database: Database) -> None:
    good, forever = a_row("key_a", expires_at=NOW + HOUR), a_row("key_b")
    await written(database, good, forever, a_row("key_c", expires_at=NOW), a_row("key_d"))

    def work(connection: Connection) -> tuple[bool, bool]:
        return revoke_key(connection, "key_d", NOW), revoke_key(connection, "key_d", NOW + HOUR)

    assert await database.write(work) == (True, False)
    found = await database.read(lambda connection: living_keys(connection, NOW))
    assert found == {good.digest: good.holder, forever.digest: forever.holder}


async def test_an_older_note_of_a_use_replaces_no_newer_one(database: Database) -> None:
    await written(database, a_row("key_a"), a_row("key_b"))
    for uses in ({"key_a": NOW + HOUR, "key_b": NOW}, {"key_a": NOW}):
        await database.write(lambda connection, uses=uses: note_uses(connection, uses))  # type: ignore[misc]
    rows = await database.read(lambda connection: list_keys(connection, KeyFilter()))
    assert {row.holder.key_id: row.last_used_at for row in rows} == {"key_a": NOW + HOUR, "key_b": NOW}


async def test_the_oldest_of_too_many_sessions_are_signed_out_and_no_other_key_s(database: Database) -> None:
    def work(connection: Connection) -> None:
        open_session(connection, a_session(500, "key_b"))
        for number in range(MOST_PER_KEY + 2):
            open_session(connection, a_session(number, opened_at=NOW + timedelta(seconds=number)))

    await database.write(work)
    found = await database.read(lambda connection: living_sessions(connection, NOW))
    numbers = sorted(int.from_bytes(digest) for digest in found)
    assert numbers == [*range(2, MOST_PER_KEY + 2), 500]


@asynccontextmanager
async def a_process(url: str) -> AsyncIterator[tuple[KeyBook, Keys]]:
    """Open what one process has of keys, its book kept fresh."""
    clock = SystemClock()
    async with opened(url) as database:
        book = KeyBook(database, clock, "the administrator's")
        keeping = asyncio.create_task(book.run())
        try:
            yield book, Keys(database, book, clock, Ids(Random().randbytes))  # noqa: S311 -- of a test
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)


@pytest.mark.needs("postgres")
async def test_what_one_process_makes_and_revokes_counts_in_another_at_once(postgres_url: str) -> None:
    async with a_process(postgres_url) as (_, keys), a_process(postgres_url) as (other, _):
        for _ in range(10):
            made = await keys.make("ci", Grant(Role.VIEWER), ADMINISTRATOR)
            digest = made.row.digest
            shown = await other.by_key(digest)
            assert shown is not None
            assert shown.holder == made.row.holder
            waiting = asyncio.create_task(_held(other, shown))
            await keys.revoke(made.row.holder.key_id, ADMINISTRATOR)
            assert await waiting
            assert await other.by_key(digest) is None


async def _held(book: KeyBook, shown: Pass) -> bool:
    """Hold on to a pass until it is let go."""
    with book.holding(shown) as fence, contextlib.suppress(TimeoutError):
        async with fence:
            await asyncio.Event().wait()
    return fence.expired()
