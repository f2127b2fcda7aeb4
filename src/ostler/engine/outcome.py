"""What a job's body answers, and what follows from it for the row: pure functions of values.

Done, Wait, Retry and GiveUp are the body's words. *Interrupted* is the engine's own: the body could not go
on for a reason that is no fault of the job's (the database was away), so no attempt is counted.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from ostler.store.job_leases import Finish, PutOff
from ostler.store.jobs import ClaimedJob, JobStatus

FIRST_RETRY = timedelta(seconds=0.1)
LONGEST_RETRY = timedelta(seconds=300)
_DOUBLINGS = 12  # past these the longest wait is reached anyway
_AFTER_INTERRUPTION = timedelta(seconds=1)
_LONGEST_WAIT = timedelta(days=3650)
_LONGEST_ERROR = 2000  # characters kept of an error


class WaitWithoutZone(ValueError):  # noqa: N818 -- says what is so
    """A body asked to wait until an instant that could be any of 24."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"cannot wait until {until}: it has no time zone")


@dataclass(frozen=True, slots=True)
class Done:
    """The work is finished. Of a periodic kind: until its next time."""


@dataclass(frozen=True, slots=True)
class Wait:
    """All is well, go on later: at an instant by the database's clock, or after a while."""

    until: datetime | timedelta

    def __post_init__(self) -> None:
        if isinstance(self.until, datetime) and self.until.tzinfo is None:
            raise WaitWithoutZone(self.until)


@dataclass(frozen=True, slots=True)
class Retry:
    """It went wrong and may go better; `after` overrides the schedule when the other side named a time."""

    error: str
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It went wrong and will not go better."""

    error: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The engine's word for a body that was stopped by the surroundings."""

    reason: str


Outcome = Done | Wait | Retry | GiveUp


def retry_delay(attempts: int, chance: float) -> timedelta:
    """Return the wait after that many failed attempts; `chance`, in 0–1, spreads it over its upper half."""
    doubled: timedelta = FIRST_RETRY * 2 ** min(max(attempts - 1, 0), _DOUBLINGS)
    return min(doubled, LONGEST_RETRY) * (0.5 + chance / 2)


def result_of(
    job: ClaimedJob, outcome: Outcome | Interrupted, *, every: timedelta | None, chance: float
) -> Finish | PutOff:
    """Return what to write for a job after its outcome; `every` is the interval of a periodic kind."""
    tried = job.attempts + 1
    match outcome:
        case Done() if every is not None:
            return PutOff(job.lease, every, attempts=0)
        case Done():
            return Finish(job.lease, JobStatus.DONE, tried)
        case Wait(until):
            bounded = until if isinstance(until, datetime) else min(until, _LONGEST_WAIT)
            return PutOff(job.lease, bounded, attempts=0)
        case Retry(error) if job.max_attempts is None or tried < job.max_attempts:
            delay = outcome.after if outcome.after is not None else retry_delay(tried, chance)
            return PutOff(job.lease, delay, tried, _storable(error), can_hurry=False)
        case Retry(error) | GiveUp(error) if every is not None:
            return PutOff(job.lease, every, 0, _storable(error))
        case Retry(error) | GiveUp(error):
            return Finish(job.lease, JobStatus.FAILED, tried, _storable(error))
        case Interrupted(reason):
            return PutOff(job.lease, _AFTER_INTERRUPTION, job.attempts, _storable(reason))
        case _:
            assert_never(outcome)


def _storable(text: str) -> str:
    """Return the text without what a database refuses: one bad result would hold up all others."""
    return text[:_LONGEST_ERROR].replace("\0", "").encode("utf-8", "replace").decode()
