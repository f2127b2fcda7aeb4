"""The table of this installation: one row, which holds the id that its marks carry.

The id is made once, with the database; `OSTLER_INSTALL_ID` may give it. A database that was lost is
followed by another id, and the fleet of the old one is taken over by adopting it: see
`adopted_installs.py`.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Connection, SmallInteger, String, Table, select

from ostler.store.inserting import inserting
from ostler.store.instants import Instant
from ostler.store.schema import metadata

installation = Table(
    "installation",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("install_id", String, nullable=False),
    Column("created_at", Instant, nullable=False),
    CheckConstraint("id = 1", name="is_one"),
)


def claim_install_id(connection: Connection, proposed: str, at: datetime) -> str:
    """Return the id of this installation; the first caller's proposal becomes it."""
    kept = find_install_id(connection)
    if kept is not None:
        return kept
    row = {"id": 1, "install_id": proposed, "created_at": at}
    connection.execute(inserting(connection.dialect.name)(installation).values(row).on_conflict_do_nothing())
    return find_install_id(connection) or proposed


def find_install_id(connection: Connection) -> str | None:
    """Return the id of this installation, if it has one yet."""
    return connection.execute(select(installation.c.install_id)).scalar()
