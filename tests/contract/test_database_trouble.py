"""The database in trouble: locked, full, gone, in use by another; it is said clearly, and heals by itself."""

import asyncio
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from ostler.clock import SystemClock
from ostler.store.database import Database, DatabaseConfig, DirectoryInUse, StoreUnavailable
from ostler.store.opening import open_database
from ostler.store.signals import announce
from tests.support.databases import Shears, opened

_HOLD_LOCK = """
import sys
from pathlib import Path
from ostler.store.directory_lock import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def _count(connection: Connection) -> int:
    count: int = connection.execute(text("SELECT count(*) FROM leases")).scalar_one()
    return count


def _lease(name: str, connection: Connection) -> None:
    statement = text("INSERT INTO leases (name, owner, epoch, until) VALUES (:name, 'o', 1, 1)")
    connection.execute(statement, {"name": name})


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ostler.db"


async def test_a_lock_of_another_program_is_reported_and_then_forgotten(sqlite_url: str) -> None:
    async with opened(sqlite_url) as database:
        foreign = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        writes = [database.write(partial(_lease, str(number))) for number in range(20)]
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(result) for result in results} == {StoreUnavailable}
        assert await database.read(_count) == 0
        foreign.execute("ROLLBACK")
        foreign.close()
        await database.write(partial(_lease, "after"))
        assert await database.read(_count) == 1


async def test_a_full_disk_is_reported_and_then_forgotten(sqlite_url: str) -> None:
    async with opened(sqlite_url) as database:
        pages = await database.write(_limit_pages)

        def fill(connection: Connection) -> None:
            for number in range(1000):
                _lease(f"{number}-{'x' * 1000}", connection)

        results = await asyncio.gather(
            database.write(partial(_lease, "before")), database.write(fill), return_exceptions=True
        )
        assert isinstance(results[1], StoreUnavailable)
        await database.write(lambda c: c.exec_driver_sql(f"PRAGMA max_page_count = {pages + 10_000}").close())
        await database.write(partial(_lease, "after"))
        assert await database.read(_count) in {1, 2}


def _limit_pages(connection: Connection) -> int:
    pages = int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 5}").close()
    return pages


async def test_a_file_that_was_replaced_is_not_written_to_and_heals_when_it_is_back(tmp_path: Path) -> None:
    file, aside = tmp_path / "ostler.db", tmp_path / "aside.db"
    async with opened(f"sqlite:///{file}") as database:
        await database.write(partial(_lease, "before"))
        file.rename(aside)
        file.write_bytes(b"")
        with pytest.raises(StoreUnavailable, match="another file stands where its own was"):
            await database.write(partial(_lease, "while"))
        assert file.read_bytes() == b""
        assert await database.read(_count) == 1
        aside.rename(file)
        await database.write(partial(_lease, "after"))
    async with opened(f"sqlite:///{file}") as database:
        assert await database.read(_count) == 2


async def test_a_constraint_that_is_checked_at_the_commit_hurts_only_its_own_write(sqlite_url: str) -> None:
    def make(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE parent (id INTEGER PRIMARY KEY)"))
        connection.execute(
            text("CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
        )

    async with opened(sqlite_url) as database:
        await database.write(make)
        orphan = database.write(lambda c: c.execute(text("INSERT INTO child VALUES (1)")).close())
        others = [database.write(partial(_lease, str(number))) for number in range(10)]
        results = await asyncio.gather(orphan, *others, return_exceptions=True)
        assert [result is None for result in results] == [False] + [True] * 10
        assert await database.read(_count) == 10


async def test_a_second_opener_of_the_same_sqlite_is_refused_with_the_reason(sqlite_url: str) -> None:
    path = str(Path(sqlite_url.removeprefix("sqlite:///")).parent)
    process = subprocess.Popen(  # noqa: S603, ASYNC220 -- our own program, and it answers at once
        [sys.executable, "-c", _HOLD_LOCK, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline) == "locked\n"
    with pytest.raises(DirectoryInUse, match=f"process with id {process.pid}.*OSTLER_DATA_DIR"):
        await open_database(DatabaseConfig(sqlite_url), SystemClock())
    process.kill()
    process.communicate()
    async with opened(sqlite_url) as database:
        assert await database.read(_count) == 0


async def test_a_new_sqlite_database_is_private_to_its_user(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/new/deep/ostler.db"):
        assert (tmp_path / "new" / "deep").stat().st_mode & 0o077 == 0


@pytest.mark.needs("postgres")
async def test_a_server_that_goes_away_and_comes_back_is_used_again(postgres_url: str) -> None:
    shears = Shears(postgres_url)
    await shears.mend()
    async with opened(shears.url) as database:
        await database.write(partial(_lease, "before"))
        await shears.cut()
        with pytest.raises(StoreUnavailable):
            await database.write(partial(_lease, "while"))
        with pytest.raises(StoreUnavailable):
            await database.read(_count)
        await shears.mend()
        await database.write(partial(_lease, "after"))
        assert await database.read(_count) == 2
    await shears.cut()


@pytest.mark.needs("postgres")
async def test_connections_that_died_unnoticed_are_replaced_without_anybody_noticing(
    postgres_url: str,
) -> None:
    async with opened(postgres_url) as database:
        await database.write(partial(_lease, "before"))
        await _kill_others(database)
        await database.write(partial(_lease, "after"))
        assert await database.read(_count) == 2


async def _kill_others(database: Database) -> None:
    kill = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await database.write(lambda connection: connection.scalar(text(kill)))


@pytest.mark.needs("postgres")
async def test_transactions_that_deadlock_are_run_again_until_both_stand(postgres_url: str) -> None:
    def take(first: str, second: str, connection: Connection) -> None:
        for name in (first, second):
            statement = text("UPDATE leases SET epoch = epoch + 1 WHERE name = :name")
            connection.execute(statement, {"name": name})
            connection.execute(text("SELECT pg_sleep(0.02)"))

    async with opened(postgres_url) as database:
        for name in "ab":
            await database.write(partial(_lease, name))
        await database.write(lambda c: c.execute(text("SET deadlock_timeout = '10ms'")).close())
        writes = [database.write(partial(take, *pair)) for pair in [("a", "b"), ("b", "a")] * 3]
        await asyncio.gather(*writes)
        epochs = await database.read(lambda c: list(c.execute(text("SELECT epoch FROM leases")).scalars()))
        assert epochs == [7, 7]


@pytest.mark.needs("postgres")
async def test_signals_reach_other_processes_and_come_back_after_a_break(postgres_url: str) -> None:
    heard = asyncio.Event()
    shears = Shears(postgres_url)
    await shears.mend()
    async with opened(shears.url) as listening, opened(postgres_url) as speaking:
        listening.signals.listen("news", heard.set)
        while not heard.is_set():  # until both have their connections
            await speaking.write(lambda connection: announce(connection, "news"))
            await asyncio.sleep(0.05)  # noqa: TID251 -- real processes need real time
        heard.clear()
        await shears.cut()
        await shears.mend()
        await asyncio.wait_for(heard.wait(), 20)  # a new connection calls everybody: a signal may be missed
        heard.clear()
        await speaking.write(lambda connection: announce(connection, "news"))
        await asyncio.wait_for(heard.wait(), 20)
    await shears.cut()


async def test_a_server_that_is_not_there_at_all_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        await open_database(DatabaseConfig("postgresql://127.0.0.1:1/x", connect_timeout_s=2), SystemClock())
