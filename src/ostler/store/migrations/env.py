"""Alembic's environment: runs the revisions on the connection that `migrate.py` has opened and locked.

It opens nothing and commits nothing itself; Alembic loads this file by its path.
"""

from alembic import context
from sqlalchemy import Connection


def run() -> None:
    """Run the revisions inside the transaction that is already open."""
    connection: object = context.config.attributes.get("connection")
    assert isinstance(connection, Connection), "revisions run through ostler.store.migrate"
    context.configure(connection=connection, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


run()
