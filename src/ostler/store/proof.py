"""Proof that the database takes writes: a row that is written and taken back, in one transaction.

Needed because a full disk can still be read, and because a write of no row is no write. Called by whoever
watches over the database's health, when a write was refused.
"""

import secrets

from sqlalchemy import Connection, delete, insert

from ostler.store.instants import database_now
from ostler.store.leases import leases


def prove_writable(connection: Connection) -> None:
    """Write something and take it back; the commit reaches the disk."""
    name = f"proof {secrets.token_hex(8)}"
    connection.execute(insert(leases).values(name=name, owner=name, epoch=0, until=database_now()))
    connection.execute(delete(leases).where(leases.c.name == name))
