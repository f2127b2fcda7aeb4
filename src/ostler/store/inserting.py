"""Inserts that may meet a row that is there already: `inserting(dialect)(table).on_conflict_do_update(…)`.

Both databases have them, each as a statement of its own.
"""

from sqlalchemy.dialects import postgresql, sqlite

Inserting = sqlite.Insert | postgresql.Insert


def inserting(dialect: str) -> type[sqlite.Insert] | type[postgresql.Insert]:
    """Return the insert of a database."""
    return postgresql.Insert if dialect == "postgresql" else sqlite.Insert
