"""Looking up what became of a create whose answer was lost, until it is found or settled to be absent.

Found by its mark, compared exactly: then it is adopted, and the instance goes on as if it had been
answered. Absent only after complete listings begun after its deadline, the last after the settling time.
A listing that failed counts nothing. The looks are kept with the attempt, so that a restart does not
begin anew.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.upstream import Listing, Upstream
from ostler.domain.attempts import (
    LOOKS_FOR_ABSENT,
    Look,
    found,
    is_settled_absent,
    settled_absent,
    settles_at,
)
from ostler.domain.instance import Change, in_phase
from ostler.domain.lifecycle import State
from ostler.domain.phases import CreatingPhase
from ostler.domain.upstream import REMOVAL
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Outcome, Wait
from ostler.jobs.attempting import Attempts
from ostler.jobs.goals import Goal
from ostler.jobs.workshop import Workshop
from ostler.store.attempts import AttemptRow, swap_attempt

_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(seconds=8)
_KEPT_LOOKS = 8


@dataclass(frozen=True, slots=True)
class Adoption:
    """Looks lost creates up."""

    shop: Workshop
    attempts: Attempts

    async def look_up(self, context: JobContext, goal: Goal, row: AttemptRow) -> Outcome | None:
        """Look once; None: it is found or settled, go on. A refusal of the listing is raised."""
        await self._say_so(context)
        listing = await self.shop.cloud.find_by_name(row.attempt.upstream_name, lane=Lane.USER)
        upstream = _oldest_of(listing, row.attempt.upstream_name)
        if upstream is not None:
            adopted = replace(row, attempt=found(row.attempt, upstream.id))
            await self.attempts.assign(context, goal, row, adopted)
            return None
        return await self._count(context, row, listing)

    async def _say_so(self, context: JobContext) -> None:
        await self.shop.apply(
            context,
            lambda instance: Change(
                in_phase(instance, CreatingPhase.ADOPTING) if instance.state is State.CREATING else instance
            ),
        )

    async def _count(self, context: JobContext, row: AttemptRow, listing: Listing) -> Outcome | None:
        look = Look(listing.began_at, listing.is_complete, shows_mark=False)
        looked = replace(row, looks=(*row.looks, look)[-_KEPT_LOOKS:])
        now = self.shop.clock.now()
        is_absent = is_settled_absent(row.attempt, looked.looks, self.shop.settle, now)
        after = replace(looked, attempt=settled_absent(row.attempt)) if is_absent else looked

        def write(connection: Connection) -> bool:
            return swap_attempt(connection, row, after)

        await context.write(write)
        return None if is_absent else Wait(self._pause(looked, now))

    def _pause(self, row: AttemptRow, now: datetime) -> timedelta:
        """Look often at first, for most lost answers show soon; then once more when it may settle."""
        pause = min(_FIRST_PAUSE * (1 << len(row.looks)), _LONGEST_PAUSE)
        settled = settles_at(row.attempt, self.shop.settle)
        if settled is None or now < settled - pause or len(row.looks) < LOOKS_FOR_ABSENT:
            return pause
        return max(settled - now, _FIRST_PAUSE)


def _oldest_of(listing: Listing, name: str) -> Upstream | None:
    """Return the upstream of exactly this name; of several, which the watcher sorts out, the oldest."""
    mine = [each for each in listing.upstreams if each.name == name and each.state not in REMOVAL]
    return min(mine, key=lambda each: (each.created_at is None, each.created_at, each.id), default=None)
