"""The periodic work of webhooks: removing deliveries that ended long ago, a batch at a time.

The assembly gives `CLEAN_UP` with its body to the engine. Until then a delivery can be seen and replayed.
"""

from dataclasses import dataclass
from datetime import timedelta

from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done
from ostler.store.jobs import Priority
from ostler.store.webhook_views import delete_finished_deliveries
from ostler.usecases.clearing import clear

KEPT_FOR = timedelta(days=7)
CLEAN_UP = Kind("webhooks.clean_up", priority=Priority.LOW, every=timedelta(minutes=30))


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The body of `CLEAN_UP`."""

    kept_for: timedelta = KEPT_FOR

    async def __call__(self, context: JobContext) -> Done:
        await clear(
            context, lambda connection, limit: delete_finished_deliveries(connection, self.kept_for, limit)
        )
        return Done()
