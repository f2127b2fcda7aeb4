"""The engine's own periodic work: removing jobs that finished long ago, a batch at a time.

`Engine` adds it to the bodies that it is given.
"""

from dataclasses import dataclass
from datetime import timedelta

from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done
from ostler.store.job_views import delete_finished

_BATCH = 1000  # rows removed in one transaction, so that clean-up keeps nobody waiting
CLEAN_UP = Kind("engine.clean_up", every=timedelta(minutes=10))


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The body of `CLEAN_UP`."""

    kept_for: timedelta

    async def __call__(self, context: JobContext) -> Done:
        while (
            await context.write(lambda connection: delete_finished(connection, self.kept_for, _BATCH))
            == _BATCH
        ):
            pass
        return Done()
