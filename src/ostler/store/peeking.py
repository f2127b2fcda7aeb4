"""A look into a database from outside: read-only, without a lock, whether or not a server runs on it.

Nothing is migrated or made: an older schema is met as it is. Called by `ostler doctor` through the assembly.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import SQLAlchemyError

from ostler.clock import Clock
from ostler.store.database import DatabaseConfig, StoreUnavailable, Trouble
from ostler.store.installation import installation
from ostler.store.postgres import postgres_engine
from ostler.store.sqlite_connection import SqliteLink, SqliteSource


@contextmanager
def peeked(config: DatabaseConfig, clock: Clock) -> Iterator[Connection | None]:
    """Give a connection to look with, None where Ostler has never run; raise StoreUnavailable."""
    url = config.parsed_url
    is_postgres = url.get_backend_name() == "postgresql"
    try:
        if is_postgres:
            with _peeked_postgres(config) as connection:
                yield connection if inspect(connection).has_table(installation.name) else None
        else:
            with _peeked_sqlite(Path(url.database or ""), clock) as connection_or_none:
                yield connection_or_none
    except SQLAlchemyError as error:
        name = url.set(query={}).render_as_string()  # a password may stand there, too
        raise StoreUnavailable(name, Trouble.UNREACHABLE, type(error).__name__) from error


@contextmanager
def _peeked_postgres(config: DatabaseConfig) -> Iterator[Connection]:
    engine = postgres_engine(config)
    try:
        with engine.connect().execution_options(postgresql_readonly=True) as connection, connection.begin():
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _peeked_sqlite(file: Path, clock: Clock) -> Iterator[Connection | None]:
    if not file.is_file():
        yield None
        return
    link = SqliteLink(SqliteSource(file.absolute().as_uri(), clock), writes=False)
    try:
        with link.connection.begin():
            yield link.connection
    finally:
        link.close()
