"""Removing an upstream that no row has: asked for in a transaction, done by a job that never gives up.

For duplicates and for late ones of terminated rows; whether one is to go was decided by
`domain/duplicates.py` or by a person. The job makes sure once more that it is no living row's own.
"""

from sqlalchemy import Connection

from ostler.engine.engine import Engine
from ostler.engine.kind import Kind
from ostler.telemetry.trail import Trail

REMOVE_UPSTREAM = Kind("remove_upstream")


class Removal:
    """Asks for upstreams to be removed."""

    def __init__(self, engine: Engine, trail: Trail | None = None) -> None:
        self._engine = engine
        self._trail = trail or Trail()

    def ask(self, connection: Connection, upstream_id: str) -> None:
        """Have an upstream removed; asking twice is asking once."""
        self._engine.ask(connection, REMOVE_UPSTREAM.of(upstream_id, payload=self._trail.origin()))
