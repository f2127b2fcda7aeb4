"""Instants in rows: a whole number of microseconds since 1970 in UTC, aware `datetime` in Python.

An integer means the same on both databases, sorts and indexes well, and never loses a time zone.
`database_now()` is the database's own clock, the start of the transaction on both; leases and due times are
compared with it and with no other.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, ColumnElement, Dialect, type_coerce
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SQLITE_NOW = "ostler_now"  # the SQL function that every SQLite connection of ours has


def microseconds(instant: datetime) -> int:
    """Return the row's form of an aware instant."""
    return (instant - EPOCH) // MICROSECOND


class Instant(TypeDecorator[datetime]):
    """A column type: aware `datetime` here, microseconds since the epoch there."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002 (SQLAlchemy's signature)
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 (SQLAlchemy's signature)
        return None if value is None else EPOCH + timedelta(microseconds=value)


class DatabaseNow(FunctionElement[datetime]):
    """The expression behind `database_now`; each database has its own words for it."""

    name = "database_now"
    type = Instant()
    inherit_cache = True


@compiles(DatabaseNow, "sqlite")
def _on_sqlite(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:  # noqa: ARG001 (SQLAlchemy's signature)
    return f"{SQLITE_NOW}()"


@compiles(DatabaseNow, "postgresql")
def _on_postgresql(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:  # noqa: ARG001 (SQLAlchemy's signature)
    return "CAST(extract(epoch FROM now()) * 1000000 AS bigint)"


def database_now() -> ColumnElement[datetime]:
    """Return the SQL expression for the instant at which this transaction began, by the database's clock."""
    return DatabaseNow()


def database_now_plus(delay: timedelta | ColumnElement[int]) -> ColumnElement[datetime]:
    """Return the SQL expression for an instant that far ahead; a column or parameter counts microseconds."""
    ahead = delay // MICROSECOND if isinstance(delay, timedelta) else delay
    return type_coerce(type_coerce(database_now(), BigInteger) + ahead, Instant)
