"""The table of looks: how the cloud last showed the upstream of each instance, in full.

A *look* carries what details need and decisions do not: endpoints, ways in, prices, ends of terms.
Passwords are sealed apart. It has its own row, so that a look that changed nothing does not move an
instance's version.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    LargeBinary,
    String,
    Table,
    Text,
    bindparam,
    case,
    func,
    select,
)

from ostler.store.inserting import Inserting, inserting
from ostler.store.instants import Instant
from ostler.store.revisions import Part, note_change
from ostler.store.schema import metadata

looks = Table(
    "looks",
    metadata,
    Column("instance_id", String, ForeignKey("instances.id"), primary_key=True),
    Column("upstream_id", String, nullable=False),
    Column("content", Text, nullable=False),
    Column("passwords", LargeBinary, nullable=True),  # sealed
    Column("observed_at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class LookRow:
    """A look as text, with its passwords sealed."""

    instance_id: str
    upstream_id: str
    content: str
    passwords: bytes | None
    observed_at: datetime


def put_look(connection: Connection, look: LookRow) -> None:
    """Keep a look in place of the one before; an older one of the same upstream changes nothing.

    One without passwords leaves those that are known of the same upstream: they hold until others are shown.
    """
    values = {
        "instance_id": look.instance_id,
        "upstream_id": look.upstream_id,
        "content": look.content,
        "passwords": look.passwords,
        "observed_at": look.observed_at,
    }
    connection.execute(_putting(connection.dialect.name), values)
    note_change(connection, Part.LOOKS, look.instance_id)


def find_look(connection: Connection, instance_id: str) -> LookRow | None:
    """Return the last look at an instance's upstream."""
    row = connection.execute(_OF, {"wanted_instance": instance_id}).first()
    if row is None:
        return None
    return LookRow(row.instance_id, row.upstream_id, row.content, row.passwords, row.observed_at)


_OF = select(looks).where(looks.c.instance_id == bindparam("wanted_instance"))


@cache
def _putting(dialect: str) -> Inserting:
    new = inserting(dialect)(looks)
    names = ("upstream_id", "content", "observed_at")
    is_newer = looks.c.observed_at <= new.excluded.observed_at
    is_other = looks.c.upstream_id != new.excluded.upstream_id
    known = case((is_other, None), else_=looks.c.passwords)
    passwords = func.coalesce(new.excluded.passwords, known)
    return new.on_conflict_do_update(
        index_elements=["instance_id"],
        set_={name: new.excluded[name] for name in names} | {"passwords": passwords},
        where=is_newer | is_other,
    )
