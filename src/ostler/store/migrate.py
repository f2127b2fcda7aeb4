"""Brings a database to this version's schema at start, under a lock, or refuses one that is newer.

A database without a schema is given the one of `tables.py` at once; an older one runs the revisions that it
lacks (`upgrade.py`). Either is one transaction, so a crash leaves what was there. PostgreSQL: an advisory
lock, so that replicas that start together wait. SQLite: the write lock. A new revision is a new file in
`migrations/versions/`, written by hand after the newest; tests compare both ways with one another.
"""

from functools import cache
from importlib.resources import files

from sqlalchemy import Connection, Engine, column, insert, select, table, text

from ostler.store.database import SchemaTooNew
from ostler.store.sqlite_connection import SqliteLink, SqliteSource
from ostler.store.tables import TABLES

_LOCK = 0x0571E2  # any number that only we use: PostgreSQL's advisory locks are named by numbers
_REVISION = table("alembic_version", column("version_num"))  # Alembic's own, and its name for it
_HOLDS_REVISION = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,"
    " CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


@cache
def revisions() -> tuple[str, ...]:
    """Return the names of all revisions, the newest last; each is told by the name of its file."""
    names = (each.name for each in files("ostler.store.migrations.versions").iterdir())
    return tuple(sorted(name[1:5] for name in names if name.startswith("r") and name.endswith(".py")))


def revision_in(connection: Connection) -> str | None:
    """Return the revision of a database; None when it has no schema yet."""
    if not connection.dialect.has_table(connection, _REVISION.name):
        return None
    return connection.execute(select(_REVISION.c.version_num)).scalar()


def migrate_sqlite(source: SqliteSource, revision: str | None = None) -> None:
    """Bring a SQLite file to a revision, the newest if none is named; blocks."""
    link = SqliteLink(source, writes=True)
    try:
        # Rebuilding a table, which is how SQLite alters one, must not cascade; the check comes after.
        link.connection.connection.cursor().execute("PRAGMA foreign_keys = OFF").close()
        with link.connection.begin():
            migrate(link.connection, revision)
            broken = link.connection.execute(text("PRAGMA foreign_key_check")).all()
            assert not broken, f"a migration left references to nothing: {broken}"
    finally:
        link.close()


def migrate_postgres(engine: Engine, revision: str | None = None) -> None:
    """Bring a PostgreSQL database to a revision; blocks, also while another replica migrates."""
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        migrate(connection, revision)


def migrate(connection: Connection, revision: str | None = None) -> None:
    """Bring the schema to a revision, the newest if none is named, in the caller's transaction."""
    newest, found = revisions()[-1], revision_in(connection)
    if found is not None and found not in revisions():
        raise SchemaTooNew(found, newest)
    if found is None and revision is None:
        _lay(connection, newest)
    elif found != (revision or newest):
        from ostler.store.upgrade import upgrade  # noqa: PLC0415 -- Alembic stays: 10 MB that few starts need

        upgrade(connection, revision or newest)


def _lay(connection: Connection, newest: str) -> None:
    for each in TABLES:
        each.create(connection, checkfirst=False)
    connection.execute(text(_HOLDS_REVISION))
    connection.execute(insert(_REVISION).values(version_num=newest))
