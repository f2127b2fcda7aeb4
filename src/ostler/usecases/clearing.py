"""Clearing a table of what is old: batch by batch, so that nobody waits behind a long transaction.

Called by the bodies of periodic work, each of which says what is old and how often that is looked at.
"""

from collections.abc import Callable

from sqlalchemy import Connection

from ostler.engine.kind import JobContext

_BATCH = 1000  # rows removed in one transaction


async def clear(context: JobContext, delete: Callable[[Connection, int], int]) -> None:
    """Delete until there is nothing left; `delete` removes at most so many rows and says how many it did."""
    while await context.write(lambda connection: delete(connection, _BATCH)) == _BATCH:
        pass
