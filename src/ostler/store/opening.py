"""Opens the database that a URL names: locked, migrated, ready for use.

Called by the assembly and the command line alone; everybody else is given a `Database`.
"""

import asyncio

from sqlalchemy.exc import DBAPIError

from ostler.clock import Clock
from ostler.store.database import (
    Database,
    DatabaseConfig,
    DatabaseUnusable,
    DirectoryInUse,
    SchemaTooNew,
    UnknownDatabase,
)
from ostler.store.sqlite import open_sqlite

UNUSABLE = (DatabaseUnusable, DirectoryInUse, SchemaTooNew, UnknownDatabase)


async def open_database(config: DatabaseConfig, clock: Clock) -> Database:
    """Return the database, ready for use by this event loop.

    Raises `StoreUnavailable` (try again) or one of `UNUSABLE` (say so).
    """
    try:
        return await _opened(config, clock)
    except DBAPIError as error:
        raise DatabaseUnusable(str(error.orig)) from error
    except OSError as error:
        raise DatabaseUnusable(str(error)) from error


async def _opened(config: DatabaseConfig, clock: Clock) -> Database:
    match config.parsed_url.get_backend_name():
        case "sqlite":
            return await asyncio.to_thread(open_sqlite, config, clock)
        case "postgresql":
            return await _opened_postgres(config, clock)
        case scheme:
            raise UnknownDatabase(scheme)


async def _opened_postgres(config: DatabaseConfig, clock: Clock) -> Database:
    from ostler.store.postgres import open_postgres  # noqa: PLC0415 -- psycopg: 10 MB that SQLite does not need

    return await open_postgres(config, clock)
