"""A *sight*: what the cloud said of one upstream, and when the request began that it answered.

Here is decided whether a sight may be believed, and when an upstream that is not seen any more counts as
*gone*. Whose an upstream is, is decided by `kinship.py`; what a believed sight does, by `outcomes.py`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from ostler.domain.upstream import UpstreamState

NOT_YET_WINDOW = timedelta(seconds=15)
IN_FLIGHT_LIMIT = timedelta(minutes=2)  # a sender that died is replaced long before
NOT_FOUND_APART = timedelta(seconds=10)
PASSES_FOR_GONE = 2
NOT_FOUND_FOR_GONE = 2
SUSPICIOUS_COUNT = 3
SUSPICIOUS_SHARE = 5  # one in five: 20 %


@dataclass(frozen=True, slots=True)
class Sight:
    """One upstream as the cloud showed it. Its own instants are compared with one another only."""

    upstream_id: str
    state: UpstreamState
    word: str  # as the cloud spelt it
    requested_at: datetime  # when our request began
    is_detailed: bool = False  # by a GET: the connection details are known
    is_reclaimed: bool = False  # exited because the cloud took the spot node back
    reclaim_at: datetime | None = None  # announced
    last_started_at: datetime | None = None
    failure: str = ""  # the cloud's own account of a start that failed


@dataclass(frozen=True, slots=True)
class Command:
    """The last order sent to the cloud about an upstream, and what was seen of it before."""

    sent_at: datetime
    answered_at: datetime | None = None  # None: still on its way
    state_before: UpstreamState | None = None
    last_started_before: datetime | None = None


class Belief(StrEnum):
    """What to make of a sight."""

    NEWS = "news"
    STALE = "stale"  # asked for before what we know now
    NOT_YET = "not yet"  # the state from before a command that the cloud is still carrying out


def belief(sight: Sight, command: Command | None, observed_at: datetime | None, now: datetime) -> Belief:
    """Say whether a sight may move its row."""
    if observed_at is not None and sight.requested_at <= observed_at:
        return Belief.STALE
    if command is None:
        return Belief.NEWS
    answered_at = command.answered_at
    if answered_at is None:
        is_in_flight = now - command.sent_at < IN_FLIGHT_LIMIT
        return Belief.STALE if is_in_flight or sight.requested_at <= command.sent_at else Belief.NEWS
    if sight.requested_at <= answered_at:
        return Belief.STALE
    is_fresh = now - answered_at < NOT_YET_WINDOW
    return Belief.NOT_YET if is_fresh and _is_from_before(sight, command) else Belief.NEWS


def _is_from_before(sight: Sight, command: Command) -> bool:
    if sight.state is not command.state_before:
        return False
    before, after = command.last_started_before, sight.last_started_at
    return before is None or after is None or after <= before


@dataclass(frozen=True, slots=True)
class Absence:
    """How often an upstream was missed since it was last seen: by complete passes, and by single GETs."""

    passes: int = 0
    not_found: int = 0
    first_not_found_at: datetime | None = None
    last_not_found_at: datetime | None = None


PRESENT = Absence()


def missed_by_pass(absence: Absence) -> Absence:
    """Return the absence after one more complete pass without the upstream."""
    return replace(absence, passes=absence.passes + 1)


def missed_by_get(absence: Absence, requested_at: datetime) -> Absence:
    """Return the absence after one more GET that the cloud answered with "not found"."""
    return Absence(
        passes=absence.passes,
        not_found=absence.not_found + 1,
        first_not_found_at=absence.first_not_found_at or requested_at,
        last_not_found_at=requested_at,
    )


def is_gone(absence: Absence, placed_at: datetime, settle: timedelta, now: datetime) -> bool:
    """Tell whether an upstream that nobody here deleted is gone."""
    first, last = absence.first_not_found_at, absence.last_not_found_at
    if first is None or last is None or absence.not_found < NOT_FOUND_FOR_GONE:
        return False
    is_apart = last - first >= NOT_FOUND_APART
    return absence.passes >= PASSES_FOR_GONE and is_apart and now - placed_at > settle


def is_deleted(
    delete: Command, not_found_requested_at: datetime, placed_at: datetime, settle: timedelta
) -> bool:
    """Tell whether a "not found" is the cloud's word that a delete which it had accepted is done.

    Before the settling time is over, "not found" may also mean "not shown yet".
    """
    if delete.answered_at is None or not_found_requested_at <= delete.answered_at:
        return False
    return not_found_requested_at - placed_at > settle


def is_suspicious_loss(lost: int, fleet: int) -> bool:
    """Tell whether one pass misses so much, without our deletes, that nothing may be concluded from it."""
    return lost > SUSPICIOUS_COUNT and lost * SUSPICIOUS_SHARE > fleet
