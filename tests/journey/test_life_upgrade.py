"""Work that an earlier version left unfinished is finished by this one, on both databases.

The rows are as revision 0004 of the schema wrote them (`unfinished_at_0004.sql`): four creates, stopped
at four places. Whoever changes how a value is kept must still read these. They are dated long ago: the
clock of a machine shall not tell whether a lease has run out.
"""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, MetaData, create_engine, func, insert, make_url, select, text

from ostler.clock import SystemClock
from ostler.domain.attempts import AttemptState
from ostler.domain.lifecycle import State
from ostler.store.attempts import attempts_of
from ostler.store.migrate import migrate_postgres, migrate_sqlite
from ostler.store.sqlite_connection import SqliteSource
from tests.support.grounded import a_real_installation

_ROWS = Path(__file__).with_name("unfinished_at_0004.sql")
_SEQUENCE = text("SELECT setval(pg_get_serial_sequence(:table, 'id'), :last)")


def _database_of_0004(path: Path) -> dict[str, str]:
    """Make a file as it was at revision 0004; return the instances' ids by their names."""
    migrate_sqlite(SqliteSource(path.as_uri(), SystemClock()), "0004")
    connection = sqlite3.connect(path)
    connection.executescript(_ROWS.read_text(encoding="utf-8"))
    named = dict(connection.execute("SELECT name, id FROM instances").fetchall())
    connection.close()
    return named


def _moved_to_postgres(path: Path, url: str) -> None:
    """Put the rows of the file into an empty database, as it was at revision 0004."""
    source = create_engine(f"sqlite:///{path}")
    target = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    migrate_postgres(target, "0004")
    with source.connect() as here, target.begin() as there:
        _copy(here, there)
    source.dispose()
    target.dispose()


def _copy(here: Connection, there: Connection) -> None:
    theirs, ours = MetaData(), MetaData()
    theirs.reflect(here)
    ours.reflect(there)
    for table in ours.sorted_tables:
        rows = [dict(row) for row in here.execute(select(theirs.tables[table.name])).mappings()]
        if not rows or table.name == "alembic_version":
            continue
        there.execute(insert(table), rows)
        if "id" in table.c and isinstance(last := there.scalar(select(func.max(table.c.id))), int):
            there.execute(_SEQUENCE, {"table": table.name, "last": last})


async def test_creates_that_an_earlier_version_began_are_finished_once_each(
    database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "ostler.db"
    named = _database_of_0004(path)
    if not database_url.startswith("sqlite"):
        _moved_to_postgres(path, database_url)
    async with a_real_installation(database_url) as home:
        ostler = await home.process()
        for instance_id in named.values():
            await ostler.until(instance_id, State.RUNNING, within_s=60)
        assert len(home.alive()) == len(named) == 4
        states = {
            name: [
                row.attempt.state
                for row in await ostler.database.read(lambda connection, i=i: attempts_of(connection, i))  # type: ignore[misc]
            ]
            for name, i in named.items()
        }
    assert states == {
        "queued": [AttemptState.PLACED],
        "intended": [AttemptState.PLACED],
        "calling": [AttemptState.SETTLED_ABSENT, AttemptState.PLACED],
        "ambiguous": [AttemptState.SETTLED_ABSENT, AttemptState.PLACED],
    }
