"""The table of installations taken over: upstreams that carry one of their marks count as ours.

Written by `ostler adopt-install`, read by the watcher. Nothing is ever removed from it.
"""

from datetime import datetime

from sqlalchemy import Column, Connection, String, Table, select

from ostler.store.inserting import inserting
from ostler.store.instants import Instant
from ostler.store.schema import metadata

adopted_installs = Table(
    "adopted_installs",
    metadata,
    Column("install_id", String, primary_key=True),
    Column("adopted_at", Instant, nullable=False),
    Column("adopted_by", String, nullable=False),
)


def adopt(connection: Connection, install_id: str, adopted_by: str, at: datetime) -> bool:
    """Count an installation as ours from now on; False when it was so already."""
    row = {"install_id": install_id, "adopted_at": at, "adopted_by": adopted_by}
    statement = inserting(connection.dialect.name)(adopted_installs).values(row).on_conflict_do_nothing()
    return connection.execute(statement.returning(adopted_installs.c.install_id)).first() is not None


def adopted_install_ids(connection: Connection) -> frozenset[str]:
    """Return the installations that count as ours, besides our own."""
    return frozenset(connection.execute(select(adopted_installs.c.install_id)).scalars())
