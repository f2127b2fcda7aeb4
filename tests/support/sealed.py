"""Every sealed blob of a database, found by its looks in whatever column it stands: no list is believed."""

import re
from collections.abc import Iterator

from pydantic import SecretStr
from sqlalchemy import Connection, text
from sqlalchemy import inspect as inspected

from ostler.store.sealing import FernetSealer, SealBroken

_BLOB = re.compile(rb"gAAAAA[\w=-]{60,}")  # how a Fernet token of this century begins


def values_in(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield every value of a database, with its table and column."""
    look = inspected(connection)
    for table in look.get_table_names():
        for column in (each["name"] for each in look.get_columns(table)):
            for (value,) in connection.execute(text(f'SELECT "{column}" FROM "{table}"')):  # noqa: S608 -- names from the schema
                whole = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
                yield f"{table}.{column}", whole


def blobs_in(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield all that looks like a sealed blob, with its table and column."""
    for place, value in values_in(connection):
        yield from ((place, found) for found in _BLOB.findall(value))


def places_under(connection: Connection, key: str) -> tuple[set[str], set[str]]:
    """Return the columns that have blobs which this key alone opens, and those with others."""
    sealer = FernetSealer(SecretStr(key))
    opened, closed = set(), set()
    for place, blob in blobs_in(connection):
        try:
            sealer.open(blob)
            opened.add(place)
        except SealBroken:
            closed.add(place)
    return opened, closed
