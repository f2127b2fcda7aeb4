"""Migrations: from every revision to the newest, equal to the tables in code, once, and never backwards."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Engine,
    LargeBinary,
    MetaData,
    String,
    create_engine,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine.interfaces import ReflectedIndex

from ostler.clock import SystemClock
from ostler.store.database import DatabaseConfig, SchemaTooNew, UnknownDatabase
from ostler.store.migrate import migrate_postgres, migrate_sqlite, revision_in, revisions
from ostler.store.opening import open_database
from ostler.store.postgres import postgres_engine
from ostler.store.schema import metadata
from ostler.store.sqlite_connection import SqliteLink, SqliteSource
from ostler.store.tables import TABLES
from ostler.store.upgrade import alembic_config
from tests.support.databases import opened

REVISIONS = revisions()
NEWEST = REVISIONS[-1]

# What a version may have left behind, where a row of plain values would not do.
ROWS = {
    "0001": (
        "INSERT INTO jobs (id, kind, subject, generation, priority, status, due_at, attempts, lease_epoch,"
        " payload, created_at) VALUES (1, 'create', 'i-1', 0, 0, 'waiting', 1, 0, 0, '{}', 1)",
        "INSERT INTO leases (name, owner, epoch, until) VALUES ('watcher', 'old', 7, 1)",
    ),
}


def _plain_row(columns: Iterable[Column[object]]) -> dict[str, object]:
    return {column.name: _plain(column) for column in columns if not column.nullable}


def _plain(column: Column[object]) -> object:
    """Return a value for a column, the same in every table, so that references hold."""
    match column.type:
        case JSON():
            return {}
        case LargeBinary():
            return b"1"
        case Boolean():
            return True
        case String():
            return "1"
        case _:
            return 1


class Schema:
    """An empty database of either kind, to be brought to revisions."""

    def __init__(self, url: str) -> None:
        self.config = DatabaseConfig(url)
        self.is_sqlite = url.startswith("sqlite")
        self.engine: Engine = create_engine(url) if self.is_sqlite else postgres_engine(self.config)

    def bring_to(self, revision: str | None) -> None:
        if self.is_sqlite:
            path = Path(self.config.parsed_url.database or "")
            migrate_sqlite(SqliteSource(path.as_uri(), SystemClock()), revision)
        else:
            migrate_postgres(self.engine, revision)

    def fill(self, revision: str) -> None:
        """Put rows where there are none: those of `ROWS`, else one of plain values in each new table."""
        with self.engine.begin() as connection:
            for statement in ROWS.get(revision, ()):
                connection.execute(text(statement))
            tables = MetaData()
            tables.reflect(connection)
            for table in tables.sorted_tables:
                if connection.execute(select(func.count()).select_from(table)).scalar_one() == 0:
                    connection.execute(insert(table), _plain_row(table.columns))

    def row_counts(self) -> dict[str, int]:
        with self.engine.connect() as connection:
            names = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
            return {
                name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()  # noqa: S608 -- our own names
                for name in names
            }

    def empty(self) -> None:
        """Drop everything."""
        with self.engine.begin() as connection:
            tables = MetaData()
            tables.reflect(connection)
            tables.drop_all(connection)

    def description(self) -> dict[str, object]:
        """Return what the database tells about its tables, but not the order in which parts were made."""
        with self.engine.connect() as connection:
            inspector = inspect(connection)
            return {
                name: {
                    "revision": revision_in(connection),
                    "key": inspector.get_pk_constraint(name),
                    "columns": sorted(map(str, inspector.get_columns(name))),
                    "references": sorted(map(str, inspector.get_foreign_keys(name))),
                    "unique": sorted(map(str, inspector.get_unique_constraints(name))),
                    "checks": sorted(map(str, inspector.get_check_constraints(name))),
                    "indexes": sorted(map(_described, inspector.get_indexes(name))),
                }
                for name in inspector.get_table_names()
            }


def _described(index: ReflectedIndex) -> str:
    conditions = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return str({**index, "dialect_options": conditions})


@pytest.fixture
def schema(database_url: str) -> Iterator[Schema]:
    """Give an empty database of each kind."""
    schema = Schema(database_url)
    yield schema
    schema.engine.dispose()


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_filled_database_of_any_earlier_revision_keeps_its_rows(schema: Schema, revision: str) -> None:
    for earlier in REVISIONS[: REVISIONS.index(revision) + 1]:
        schema.bring_to(earlier)
        schema.fill(earlier)
    before = schema.row_counts()
    schema.bring_to(None)
    after = schema.row_counts()
    assert {name: after[name] for name in before} == before
    assert set(after) == {table.name for table in TABLES}


def test_every_revision_that_makes_tables_has_rows_to_be_tried_with(schema: Schema) -> None:
    for revision in REVISIONS:
        schema.bring_to(revision)
        schema.fill(revision)
    counts = schema.row_counts()
    assert [name for name, count in counts.items() if not count] == []


def test_the_migrated_schema_is_the_one_in_code(schema: Schema) -> None:
    schema.bring_to(NEWEST)
    with schema.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_new_database_has_the_schema_of_one_that_was_migrated(schema: Schema) -> None:
    schema.bring_to(NEWEST)
    migrated = schema.description()
    schema.empty()
    schema.bring_to(None)
    assert schema.description() == migrated


def test_revisions_are_told_by_their_files_in_the_order_in_which_they_run() -> None:
    scripts = ScriptDirectory.from_config(alembic_config()).walk_revisions()
    assert list(REVISIONS) == [script.revision for script in scripts][::-1]


def test_every_table_of_the_metadata_is_named_in_tables() -> None:
    assert {table.name for table in TABLES} == set(metadata.tables)


def test_a_database_of_a_newer_version_is_refused_with_the_reason(schema: Schema) -> None:
    schema.bring_to(None)
    with schema.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaTooNew, match=r"revision 9999.*install the newer version"):
        schema.bring_to(None)


def test_migrating_again_changes_nothing(schema: Schema) -> None:
    schema.bring_to(None)
    schema.fill(REVISIONS[0])
    schema.bring_to(None)
    assert schema.row_counts()["jobs"] == 1


@pytest.mark.needs("postgres")
async def test_replicas_that_start_together_migrate_once(postgres_url: str) -> None:
    async def start() -> None:
        async with opened(postgres_url) as database:
            assert await database.read(lambda c: c.scalar(text("SELECT count(*) FROM alembic_version"))) == 1

    await asyncio.gather(*(start() for _ in range(3)))


async def test_a_failing_migration_leaves_the_schema_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ostler.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE leases (name TEXT)"
        )  # in the way of the second table of revision 0001
    connection.close()
    with pytest.raises(Exception, match="already exists"):
        await open_database(DatabaseConfig(f"sqlite:///{path}"), SystemClock())
    link = SqliteLink(SqliteSource(path.as_uri(), SystemClock()), writes=False)
    assert inspect(link.connection).get_table_names() == ["leases"]
    link.close()


async def test_an_unknown_kind_of_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownDatabase, match="mysql"):
        await open_database(DatabaseConfig(f"mysql://{tmp_path}"), SystemClock())
