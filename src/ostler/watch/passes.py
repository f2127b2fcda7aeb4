"""One *pass*: list the account, compare it with the rows, and do what follows.

What was seen is told to the rows first. What is absent concludes only from a complete pass of the right
account that did not lose too much at once; and so does what is no row's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.upstream import Listing
from ostler.domain.lifecycle import State
from ostler.engine.leader import Term
from ostler.store.instances import note_seen
from ostler.store.watch_rows import LivingRows, WatchRow, living_rows
from ostler.store.watch_state import (
    PassFacts,
    Suspicion,
    WatchState,
    be_calm,
    keep_pass,
    read_watch_state,
)
from ostler.watch.absence import Absences, is_too_much, missing_rows, newly_lost
from ostler.watch.account import Account
from ostler.watch.brakes import Brakes
from ostler.watch.comparing import Comparison, Fingerprint, comparison
from ostler.watch.expiring import Expiring
from ostler.watch.missing import Missing
from ostler.watch.startups import Startups
from ostler.watch.telling import tell
from ostler.watch.tower import Tower
from ostler.watch.unowned import Unowned

_STARTING = State.STARTING.value
_AT_A_TIME = 2_000  # upstreams compared before others may use the event loop


@dataclass(frozen=True, slots=True)
class Seen:
    """What one pass looked at."""

    listing: Listing
    rows: Sequence[WatchRow]
    compared: Comparison
    missing: Sequence[WatchRow]
    state: WatchState


class Passes:
    """Makes passes, one after the other, for one term of watching."""

    def __init__(self, tower: Tower, account: Account, absences: Absences, startups: Startups) -> None:
        self._tower = tower
        self._account = account
        self._absences = absences
        self._startups = startups
        self._missing = Missing(tower, absences)
        self._unowned = Unowned(tower)
        self._brakes = Brakes(tower)
        self._expiring = Expiring(tower)
        self._idle: Mapping[str, Fingerprint] = {}
        self._living: LivingRows | None = None
        self._last_began_at: datetime | None = None

    async def make(self, term: Term, state: WatchState) -> PassFacts:
        """Make one pass; a refusal of the cloud is raised. `state` is from before it, and says who waits."""
        began_at = self._tower.clock.now()
        began = self._tower.clock.monotonic()
        listing = await self._tower.cloud.list_all(lane=Lane.WATCHER)
        seen = await self._compare(listing)
        is_ours = await self._is_our_account(term, seen)
        is_conclusive = False
        if is_ours:
            is_conclusive = await self._act(term, seen)
        facts = PassFacts(
            began_at=began_at,
            took=timedelta(seconds=self._tower.clock.monotonic() - began),
            interval=None if self._last_began_at is None else began_at - self._last_began_at,
            pages=listing.pages,
            upstreams=len(listing.upstreams) + len(listing.unreadable),
            rows=len(seen.rows),
            is_complete=listing.is_complete,
            missing=tuple(row.upstream_id for row in seen.missing if row.upstream_id is not None),
        )
        self._last_began_at = began_at

        def keep(connection: Connection) -> None:
            if is_conclusive:
                _note_last_seen(connection, seen)
            keep_pass(connection, facts, state.asked, is_conclusive=is_conclusive)

        await term.write(keep)
        return facts

    async def hold_brakes(self, term: Term) -> None:
        """Judge the brakes although the cloud shows nothing: time and cost go on."""
        living = await self._tower.database.read(lambda connection: living_rows(connection, self._living))
        await self._brakes.judge(term, living.rows)

    async def _compare(self, listing: Listing) -> Seen:
        """Read the rows after the list, so that what was placed meanwhile has its row."""
        living, state = await self._tower.database.read(
            lambda connection: (living_rows(connection, self._living), read_watch_state(connection))
        )
        self._living = living
        compared = comparison(living.rows, self._idle)
        compared.seen.update(listing.unreadable)
        for start in range(0, len(listing.upstreams), _AT_A_TIME):
            compared.take(listing.upstreams[start : start + _AT_A_TIME])
            await self._tower.clock.sleep(0)
        missing = missing_rows(compared.absent(), listing.began_at - self._tower.config.settle)
        return Seen(listing, living.rows, compared, missing, state)

    async def _is_our_account(self, term: Term, seen: Seen) -> bool:
        """A key that is not trusted yet is so once it shows an upstream that we know."""
        if self._account.is_trusted(seen.state):
            return True
        if not any(upstream_id in seen.compared.seen for upstream_id in seen.compared.rows):
            return False
        await term.write(self._account.trust)
        return True

    async def _act(self, term: Term, seen: Seen) -> bool:
        """Do what follows; tell whether what is absent could be concluded from."""
        told = await tell(self._tower, term, seen.compared.news)
        self._idle = {
            upstream_id: mark for upstream_id, mark in self._idle.items() if upstream_id in seen.compared.seen
        } | dict(told)
        self._absences.seen(seen.compared.seen)
        if any(row.state == _STARTING for row in seen.rows):
            await self._startups.judge(term, seen.compared.seen)
        await self._brakes.judge(term, seen.rows)
        await self._expiring.warn(term, seen.compared.rows, seen.listing.upstreams)
        if await self._has_lost_too_much(term, seen):
            return False
        census = await self._unowned.census(seen.compared.unowned)
        await self._unowned.put_down(term, census, is_complete=seen.listing.is_complete)
        await self._unowned.deal_with(term, census)
        if seen.listing.is_complete:
            self._absences.passed({row.upstream_id for row in seen.missing if row.upstream_id is not None})
            await self._missing.ask(term, seen.missing, census.siblings())
        return seen.listing.is_complete

    async def _has_lost_too_much(self, term: Term, seen: Seen) -> bool:
        if not seen.listing.is_complete:
            return seen.state.suspicion is Suspicion.LOSS
        before = () if seen.state.last_pass is None else seen.state.last_pass.missing
        lost = newly_lost(seen.missing, frozenset(before))
        if is_too_much(lost, seen.state.confirmed_count, seen.rows):
            at = self._tower.clock.now()
            if seen.state.suspicion is not Suspicion.LOSS or seen.state.suspect_count != lost:
                await term.write(
                    lambda connection: self._account.raise_alarm(connection, Suspicion.LOSS, lost, at)
                )
            return True
        if seen.state.suspicion is not None:
            await term.write(be_calm)
        return False


def _note_last_seen(connection: Connection, seen: Seen) -> None:
    """Write of what is missed for the first time when it was last there: this pass dates it no more."""
    state = seen.state
    if state.confirmed_at is None:
        return
    before = () if state.last_pass is None else state.last_pass.missing
    for row in seen.missing:
        if row.upstream_id is not None and row.upstream_id not in before:
            note_seen(connection, row.id, row.upstream_id, state.confirmed_at)
