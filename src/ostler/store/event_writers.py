"""Who is writing events right now: what the reader of the log must know where commits do not come in order.

PostgreSQL gives out an event's id before its transaction commits. Whoever inserts holds a lock on the table
from before it takes an id until after its commit can be seen. The transaction ids of a snapshot would not do:
its upper end is the last one that has *completed*, and an id may be taken before a transaction has one.
"""

from sqlalchemy import Connection, text

_WRITERS = text(
    """
    SELECT virtualtransaction FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'events'::regclass AND mode = 'RowExclusiveLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
)


def event_writers(connection: Connection) -> frozenset[str]:
    """Return the transactions that may have taken an id and not yet shown their event; none on SQLite."""
    if connection.dialect.name != "postgresql":
        return frozenset()
    return frozenset(connection.execute(_WRITERS).scalars())
