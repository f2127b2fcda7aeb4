"""Runs the revisions that a database lacks: Alembic's work, loaded only where there is some.

Called by `migrate.py`, which has the lock and the transaction.
"""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def alembic_config() -> Config:
    """Return the configuration of Alembic; the scripts are found inside the installed package."""
    config = Config()
    config.set_main_option("script_location", "ostler.store:migrations")
    return config


def upgrade(connection: Connection, revision: str) -> None:
    """Run the revisions up to one in the caller's transaction."""
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
