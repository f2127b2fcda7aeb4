"""PostgreSQL behind the Database port: a pool of psycopg connections, each used by one thread at a time.

A transaction that lost a race (serialization failure, deadlock) is run again at once; a connection that
turns out dead before the commit is replaced. Reads are `REPEATABLE READ`, read only: one snapshot. Topics
travel to the other processes by `LISTEN` and `NOTIFY` (`postgres_signals.py`).
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ostler.clock import Clock
from ostler.store.database import DatabaseConfig, StoreUnavailable, Trouble
from ostler.store.migrate import migrate_postgres
from ostler.store.postgres_signals import PostgresSignals
from ostler.store.signals import Aftermath, Signals, begin_aftermath

T = TypeVar("T")
DATABASE = "the PostgreSQL database"
_TRIES = 8  # of a transaction that keeps losing races
_RACE_LOST = "40"  # class: serialization failure, deadlock
_NO_ANSWER = frozenset({"OperationalError", "ConnectionTimeout"})
# States, or classes of them: the first that an error's state begins with tells. Only a writer can find that
# the server has become a standby.
_TROUBLES = {
    "08": Trouble.UNREACHABLE,
    "53100": Trouble.DISK_FULL,
    "53": Trouble.NO_ROOM,
    "55P03": Trouble.LOCKED,
    "57": Trouble.RESTARTING,
    "58": Trouble.DISK_FAILING,
    "XX001": Trouble.DAMAGED,
    "XX002": Trouble.DAMAGED,
}
_TROUBLES_OF_WRITERS = {**_TROUBLES, "25006": Trouble.READ_ONLY}
_Troubles = Mapping[str, Trouble]
# A process that is paused inside a transaction must not hold its row locks for ever.
_SESSION = (
    "SET idle_in_transaction_session_timeout = '15s'",
    "SET statement_timeout = '60s'",
    "SET client_encoding = 'UTF8'",
)


class PostgresDatabase:
    """A pool on a database. Made by `open_postgres`, on the event loop that will use it."""

    is_exclusive = False
    stamps = None

    def __init__(self, engine: Engine, config: DatabaseConfig, clock: Clock) -> None:
        self.signals = Signals()
        self._engine = engine
        self._writers = ThreadPoolExecutor(config.writers, "postgres-writer")
        self._readers = ThreadPoolExecutor(config.readers, "postgres-reader")
        self._wire = PostgresSignals(config, clock, self.signals)
        self._is_closed = False

    async def write(self, work: Callable[[Connection], T]) -> T:
        self._refuse_if_closed()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writers, self._write, work, loop)

    async def read(self, work: Callable[[Connection], T]) -> T:
        self._refuse_if_closed()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        await self._wire.close()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._readers.shutdown(wait=True)
        self._writers.shutdown(wait=True)
        self._engine.dispose()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(DATABASE, Trouble.CLOSED)

    def _write(self, work: Callable[[Connection], T], loop: asyncio.AbstractEventLoop) -> T:
        result, aftermath = self._until_it_stands(lambda: self._transact(work), _TROUBLES_OF_WRITERS)
        if aftermath.callbacks or aftermath.topics:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody is left to hear
                loop.call_soon_threadsafe(self._deliver, aftermath)
        return result

    def _deliver(self, aftermath: Aftermath) -> None:
        self.signals.deliver(aftermath)
        self._wire.tell_others(aftermath.topics)

    def _transact(self, work: Callable[[Connection], T]) -> tuple[T, Aftermath]:
        with self._engine.connect() as connection:
            transaction = connection.begin()
            aftermath = begin_aftermath(connection)
            result = work(connection)
            try:
                transaction.commit()
            except DBAPIError as error:
                if error.connection_invalidated:  # the answer is lost: running it again could do it twice
                    seen = f"the connection broke during a commit: {error.orig}"
                    raise StoreUnavailable(DATABASE, Trouble.UNREACHABLE, seen) from error
                raise
        return result, aftermath

    def _read(self, work: Callable[[Connection], T]) -> T:
        return self._until_it_stands(lambda: self._look(work), _TROUBLES)

    def _look(self, work: Callable[[Connection], T]) -> T:
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            return work(connection)

    def _until_it_stands(self, transaction: Callable[[], T], troubles: _Troubles) -> T:
        """Run a transaction; again after a lost race, and once when its connection had died in the pool."""
        has_reconnected = False
        for _ in range(_TRIES):
            try:
                return transaction()
            except PoolTimeoutError as error:
                raise StoreUnavailable(DATABASE, Trouble.NO_ROOM, str(error)) from error
            except DBAPIError as error:
                if _lost_a_race(error):
                    continue
                if error.connection_invalidated and not has_reconnected:
                    has_reconnected = True
                    continue
                raise _translated(error, troubles) from error
        raise StoreUnavailable(DATABASE, Trouble.LOST_RACES, f"a transaction lost {_TRIES} races with others")


def _sqlstate(error: DBAPIError) -> str | None:
    state: object = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None


def _lost_a_race(error: DBAPIError) -> bool:
    return (_sqlstate(error) or "").startswith(_RACE_LOST)


def _translated(error: DBAPIError, troubles: _Troubles) -> Exception:
    """Return what the caller shall see: the database is away, or the very error."""
    state = _sqlstate(error)
    if state is None:  # no server answered at all
        is_away = error.connection_invalidated or type(error.orig).__name__ in _NO_ANSWER
        trouble = Trouble.UNREACHABLE if is_away else None
    else:
        trouble = next((troubles[each] for each in troubles if state.startswith(each)), None)
    return error if trouble is None else StoreUnavailable(DATABASE, trouble, str(error.orig))


def postgres_engine(config: DatabaseConfig) -> Engine:
    """Return a pool that has not yet connected; its connections notice when the server vanishes."""
    engine = create_engine(
        config.parsed_url,
        pool_size=config.writers + config.readers,
        max_overflow=0,
        pool_timeout=config.connect_timeout_s,
        pool_use_lifo=True,
        connect_args={
            "connect_timeout": max(2, round(config.connect_timeout_s)),
            "keepalives_idle": 10,
            "keepalives_interval": 3,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
            "application_name": "ostler",
        },
    )
    event.listen(engine, "connect", _prepare_session)
    return engine


def _prepare_session(driver: DBAPIConnection, _record: object) -> None:
    cursor = driver.cursor()
    for statement in _SESSION:
        cursor.execute(statement)
    cursor.close()
    driver.commit()


async def open_postgres(config: DatabaseConfig, clock: Clock) -> PostgresDatabase:
    """Return the migrated database, on the event loop that will use it."""
    return PostgresDatabase(await asyncio.to_thread(connect_postgres, config), config, clock)


def connect_postgres(config: DatabaseConfig) -> Engine:
    """Migrate the database and return the pool; blocks."""
    engine = postgres_engine(config)
    try:
        migrate_postgres(engine)
    except DBAPIError as error:
        engine.dispose()
        raise _translated(error, _TROUBLES_OF_WRITERS) from error
    except BaseException:
        engine.dispose()
        raise
    return engine
