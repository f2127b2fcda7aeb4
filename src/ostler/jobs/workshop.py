"""What every body works with, made once by the assembly; and small words that all of them use.

Nothing here knows a particular kind of work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import CircuitOpen, CloudRefusal, RateLimited
from ostler.domain.instance import Change, Instance
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Retry
from ostler.store.instances import InstanceRow, find_instance
from ostler.usecases.ids import Ids
from ostler.usecases.observe import Observation
from ostler.usecases.record import Occasion, Recorded, Recorder

_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(seconds=10)
_DOUBLINGS = 4


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of a body."""

    cloud: Cloud
    recorder: Recorder
    observation: Observation
    clock: Clock
    ids: Ids
    install_id: str
    settle: timedelta = timedelta(seconds=30)  # OSTLER_CREATE_SETTLE_SECONDS

    def occasion(self) -> Occasion:
        """Return now, in the name of the work."""
        return Occasion(self.clock.now(), "work")

    async def read(self, context: JobContext) -> InstanceRow | None:
        """Return the row that the job is about."""
        return await context.database.read(lambda connection: find_instance(connection, context.subject))

    async def apply(self, context: JobContext, step: Callable[[Instance], Change]) -> Recorded:
        """Change the job's instance by a step of the domain, if the lease still holds."""
        occasion = self.occasion()

        def write(connection: Connection) -> Recorded:
            return self.recorder.apply(connection, context.subject, step, occasion)

        return await context.write(write)


def retry_after(refusal: CloudRefusal, now: datetime) -> Retry:
    """Return when to go on after a refusal that may pass: at the time that the cloud or the breaker named."""
    match refusal:
        case RateLimited(retry_after_s=seconds) if seconds is not None:
            return Retry(str(refusal), timedelta(seconds=seconds))
        case CircuitOpen(next_try_at=at):
            return Retry(str(refusal), max(timedelta(seconds=1), at - now))
        case _:
            return Retry(str(refusal))


def not_yet(context: JobContext, status: str) -> Retry:
    """Return when to try again what the cloud cannot do in its present state."""
    pause = _FIRST_PAUSE * (1 << min(context.attempt - 1, _DOUBLINGS))
    return Retry(f"the cloud still says {status!r}", min(pause, _LONGEST_PAUSE))
