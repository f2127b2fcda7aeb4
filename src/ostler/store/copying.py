"""Copies of a whole database, taken while it is in use, and put into an empty one.

A copy is a SQLite file, whatever the database is, so that a backup needs no tools of PostgreSQL's, in no
version, and may go from one kind of database to the other. Each copy is one consistent snapshot. Called by
`ostler backup` and `ostler restore` through the assembly.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, Table, func, insert, select, text
from sqlalchemy.types import TypeDecorator, TypeEngine

from ostler.clock import Clock
from ostler.store.database import DatabaseConfig
from ostler.store.events import events, last_id_given
from ostler.store.installation import find_install_id
from ostler.store.migrate import migrate_sqlite, revision_in, revisions
from ostler.store.postgres import connect_postgres, postgres_engine
from ostler.store.schema import Key, metadata
from ostler.store.sqlite_connection import SqliteLink, SqliteSource
from ostler.store.tables import TABLES

_BATCH = 1000
_SEQUENCE = "SELECT setval(pg_get_serial_sequence(:table, 'id'), :last)"


class NotCopied(Exception):  # noqa: N818 -- says what is so
    """The copy was not made; nothing was changed. The message says why, and what to do."""


def copy_sqlite(database: Path, target: Path) -> None:
    """Copy a SQLite file that may be in use into a new file."""
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(target)) as copy:
        source.execute("PRAGMA query_only = ON").close()
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").close()  # one file, with nothing beside it
        (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        message = f"the database is damaged: {verdict}; restore an earlier backup"
        raise NotCopied(message)


def copy_from_postgres(config: DatabaseConfig, target: Path, clock: Clock) -> None:
    """Copy all rows of a PostgreSQL database into a new SQLite file."""
    source = SqliteSource(target.as_uri(), clock)
    migrate_sqlite(source)
    engine, link = postgres_engine(config), SqliteLink(source, writes=True)
    snapshot = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with engine.connect().execution_options(**snapshot) as there, there.begin():
            _take_as_long_as_needed(there)
            _require_our_schema(there)
            with link.connection.begin():
                _copy_rows(there, link.connection)
                last = {"name": events.name, "last": last_id_given(there)}
                link.connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), last)
                link.connection.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :last)"), last)
    finally:
        link.close()
        engine.dispose()
    with closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE").close()


def copy_into_postgres(copy: Path, config: DatabaseConfig, clock: Clock) -> None:
    """Put the rows of a copy, which has this version's schema, into an empty PostgreSQL database."""
    engine, link = connect_postgres(config), SqliteLink(SqliteSource(copy.as_uri(), clock), writes=False)
    try:
        with engine.begin() as there, link.connection.begin():
            _take_as_long_as_needed(there)
            _refuse_rows(there)
            _copy_rows(link.connection, there)
            _go_on_counting(link.connection, there)
    finally:
        link.close()
        engine.dispose()


def require_empty(config: DatabaseConfig) -> None:
    """Raise NotCopied when a PostgreSQL database holds an installation already."""
    engine = connect_postgres(config)
    try:
        with engine.begin() as there:
            _refuse_rows(there)
    finally:
        engine.dispose()


def install_id_in(copy: Path, clock: Clock) -> str | None:
    """Bring a copy to this version's schema, and return whose it is; raise SchemaTooNew."""
    source = SqliteSource(copy.as_uri(), clock)
    migrate_sqlite(source)
    link = SqliteLink(source, writes=False)
    try:
        with link.connection.begin():
            found = find_install_id(link.connection)
    finally:
        link.close()
    with closing(sqlite3.connect(copy)) as plain:
        plain.execute("PRAGMA journal_mode = DELETE").close()
    return found


def _refuse_rows(connection: Connection) -> None:
    if find_install_id(connection) is not None:
        message = "the database is not empty: make a new one, and set OSTLER_DATABASE_URL to it"
        raise NotCopied(message)


def _copy_rows(source: Connection, target: Connection) -> None:
    """Copy table by table, each after those that it refers to; what is encoded travels as it stands."""
    for table in (table for table in metadata.sorted_tables if table in TABLES):
        columns = (Column(each.name, _undecoded(each.type)) for each in table.c)
        plain = Table(table.name, MetaData(), *columns)
        found = source.execution_options(yield_per=_BATCH).execute(select(plain)).mappings()
        for batch in found.partitions():
            target.execute(insert(plain), [dict(row) for row in batch])


def _undecoded(kind: TypeEngine[object]) -> TypeEngine[object]:
    return kind.impl_instance if isinstance(kind, TypeDecorator) else kind


def _go_on_counting(source: Connection, target: Connection) -> None:
    """Let PostgreSQL give out ids that come after those that were ever given."""
    for table in (table for table in TABLES if "id" in table.c and table.c.id.type is Key):
        last = source.execute(select(func.max(table.c.id))).scalar() or 0
        if table is events:
            given = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
            last = max(last, source.execute(given, {"name": table.name}).scalar() or 0)
        if last:
            target.execute(text(_SEQUENCE), {"table": table.name, "last": last})


def _take_as_long_as_needed(connection: Connection) -> None:
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def _require_our_schema(connection: Connection) -> None:
    found, ours = revision_in(connection), revisions()[-1]
    if found != ours:
        message = (
            f"the database is at revision {found or 'none'} and this version of Ostler at {ours}: "
            "back up with the version that runs on it"
        )
        raise NotCopied(message)
