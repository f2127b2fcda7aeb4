"""The table of revisions: by numbers that only grow, a reader knows without looking that nothing changed.

The *revision* of a part is the sum of its counters. Whoever changes a part adds one in the same transaction,
so that the sum is exact in every snapshot, in every process: equal sums, equal rows. A part has many
counters, chosen by what is changed, so that writers of different instances seldom wait for one another.
"""

from collections.abc import Collection
from enum import StrEnum
from functools import cache
from zlib import crc32

from sqlalchemy import BigInteger, Column, Connection, SmallInteger, String, Table, func, select

from ostler.store.inserting import Inserting, inserting
from ostler.store.schema import metadata
from ostler.store.signals import touch

_COUNTERS = 64  # of one part


class Part(StrEnum):
    """What can change."""

    INSTANCES = "instances"
    LOOKS = "looks"
    SIGHTINGS = "sightings"
    KEYS = "keys"


revisions = Table(
    "revisions",
    metadata,
    Column("part", String, primary_key=True),
    Column("counter", SmallInteger, primary_key=True, autoincrement=False),
    Column("changes", BigInteger, nullable=False),
)


def note_change(connection: Connection, part: Part, subject: str) -> None:
    """Count a change of a part, together with the change itself."""
    counter = crc32(subject.encode()) % _COUNTERS
    connection.execute(_counting(connection.dialect.name), {"part": part.value, "counter": counter})
    touch(connection, subject)


def read_revision(connection: Connection, parts: Collection[Part]) -> int:
    """Return how often any of these parts has changed."""
    query = select(func.sum(revisions.c.changes)).where(revisions.c.part.in_([part.value for part in parts]))
    return int(connection.execute(query).scalar() or 0)


@cache
def _counting(dialect: str) -> Inserting:
    new = inserting(dialect)(revisions)
    return new.values(changes=1).on_conflict_do_update(
        index_elements=["part", "counter"], set_={"changes": revisions.c.changes + 1}
    )
