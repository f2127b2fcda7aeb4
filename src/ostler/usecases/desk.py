"""The desk: where work that a change of an instance asks for becomes a job, in the change's own
transaction.

Here every kind of work about instances has its name (which `GET /api/jobs` shows as its type) and its
policy. None of them gives up by itself: what was accepted is carried through, or fails by a decision of
its body. What a user waits for is taken on by the process that accepted it; the rest by whoever is free.
"""

from collections.abc import Mapping

from sqlalchemy import Connection

from ostler.domain.work import Work, WorkKind
from ostler.engine.engine import Engine
from ostler.engine.kind import Kind
from ostler.store.jobs import Priority
from ostler.telemetry.trail import Trail

KINDS: Mapping[WorkKind, Kind] = {
    WorkKind.CREATE: Kind("create_instance", Priority.HIGH),
    WorkKind.START: Kind("start_instance", Priority.HIGH),
    WorkKind.STOP: Kind("stop_instance", Priority.HIGH),
    WorkKind.RESTART: Kind("restart_instance", Priority.HIGH),
    WorkKind.DELETE: Kind("delete_instance", Priority.HIGH),
    WorkKind.MIGRATE: Kind("migrate_instance", Priority.HIGH),
    WorkKind.RECOVER: Kind("recover_instance", Priority.HIGH),
    WorkKind.CHECK_HEALTH: Kind("check_health"),
    WorkKind.REFRESH: Kind("refresh_instance"),
    WorkKind.CLEAR_PREDECESSOR: Kind("clear_predecessor"),
}
_TAKEN_ON_AT_ONCE = frozenset(
    {
        WorkKind.CREATE,
        WorkKind.START,
        WorkKind.STOP,
        WorkKind.RESTART,
        WorkKind.DELETE,
        WorkKind.MIGRATE,
        WorkKind.REFRESH,
    }
)


class EngineDesk:
    """Hands work to the engine of this process, with the trail of what asks for it."""

    def __init__(self, engine: Engine, trail: Trail | None = None) -> None:
        self._engine = engine
        self._trail = trail or Trail()

    def __call__(self, connection: Connection, work: Work) -> None:
        """Have the work done: once, however often it is asked for."""
        origin = self._trail.origin()
        if work.operation_id is not None:
            origin["operationId"] = work.operation_id
        job = KINDS[work.kind].of(work.instance_id, payload=origin)
        if work.kind in _TAKEN_ON_AT_ONCE:
            self._engine.accept(connection, job)
        else:
            self._engine.ask(connection, job)
