"""The watcher's loop: a pass every while, and quicker looks while anything is on its way.

Led by one process of the cluster. A turn begins with one cheap read: what is on its way, and who waits for
a pass. Then follow single GETs where these are fewer than the pages of a list, else a pass, or nothing.
Events wake a watcher that rests, so that what begins to move is looked at soon.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Connection

from ostler.cloud.refusals import CircuitOpen, CloudRefusal
from ostler.engine.bell import Bell
from ostler.engine.leader import Term
from ostler.store.events import TOPIC as EVENTS_TOPIC
from ostler.store.watch_rows import WatchRow, rows_in_transition
from ostler.store.watch_state import ASKED_TOPIC, WatchState, keep_failure, read_watch_state
from ostler.watch.absence import Absences
from ostler.watch.account import Account
from ostler.watch.each import each
from ostler.watch.missing import Missing
from ostler.watch.passes import Passes
from ostler.watch.startups import Startups
from ostler.watch.tower import Tower
from ostler.watch.unattended import Unattended

NAME = "watcher"  # of the lead
_FAST_FOR = timedelta(hours=1)  # what has been on its way for longer is looked at as slowly as the rest
_LEAST_PAUSE_S = 0.5
_MOST_IN_HASTE = 2  # passes that fail, until those who ask for one have the pace of all
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Watcher:
    """The body of the lead `watcher`."""

    def __init__(self, tower: Tower, account: Account) -> None:
        self._tower = tower
        self._account = account

    async def __call__(self, term: Term) -> None:
        """Watch for as long as the lead lasts."""
        watch = _Watch(self._tower, self._account, term)
        signals = self._tower.database.signals
        stops = (
            signals.listen(EVENTS_TOPIC, watch.something_moved),
            signals.listen(ASKED_TOPIC, watch.somebody_asked),
        )
        try:
            while True:
                await watch.turn()
                await watch.rest()
        finally:
            for stop in stops:
                stop()


class _Watch:
    """One term of watching; all that it remembers ends with it."""

    def __init__(self, tower: Tower, account: Account, term: Term) -> None:
        self._tower = tower
        self._account = account
        self._term = term
        self._bell = Bell(tower.clock)
        absences, startups = Absences(), Startups(tower)
        self._startups = startups
        self._missing = Missing(tower, absences)
        self._passes = Passes(tower, account, absences, startups)
        self._unattended = Unattended(tower)
        self._pages = 1  # of the last list
        self._failures = 0
        self._has_moved = False
        self._is_asked = False
        self._fast_at = self._slow_at = tower.clock.monotonic()

    def something_moved(self) -> None:
        """An event was written: look soon. Called by signals."""
        if not self._has_moved:
            self._has_moved = True
            self._bell.ring()

    def somebody_asked(self) -> None:
        """Somebody waits for a pass. Called by signals."""
        self._is_asked = True
        self._bell.ring()

    async def turn(self) -> None:
        """Look at what is worth it now."""
        self._has_moved = self._is_asked = False
        clock, config = self._tower.clock, self._tower.config
        now, began = clock.now(), clock.monotonic()
        state, moving = await self._tower.database.read(lambda connection: _due(connection, now - _FAST_FOR))
        if state.key_digest != self._tower.config.key_digest:
            state = await self._term.write(lambda connection: self._account.examine(connection, now))
        is_pass_due = state.asked > state.served or began >= self._slow_at
        if is_pass_due or len(moving) >= self._pages:
            self._slow_at = began + config.slow.total_seconds()
            await self._unattended.ask(self._term)
            is_done = await self._pass(state)
            is_worth_another = self._failures < _MOST_IN_HASTE and not is_done
            self._has_moved = self._has_moved or (state.asked > state.served and is_worth_another)
        elif moving and self._account.is_trusted(state):
            await self._look_at(moving)
        self._has_moved = self._has_moved or bool(moving)
        self._fast_at = max(began + config.fast.total_seconds(), clock.monotonic() + _LEAST_PAUSE_S)

    async def rest(self) -> None:
        """Wait until the next turn is worth it."""
        clock = self._tower.clock
        while not self._is_rested(now := clock.monotonic()):
            wake_at = self._fast_at if self._has_moved else max(self._slow_at, self._fast_at)
            await self._bell.wait(wake_at - now)

    def _is_rested(self, now: float) -> bool:
        if self._is_asked:
            return True
        return now >= self._fast_at and (self._has_moved or now >= self._slow_at)

    async def _pass(self, state: WatchState) -> bool:
        """Make a pass; False: the cloud refused it."""
        try:
            facts = await self._passes.make(self._term, state)
        except CloudRefusal as refusal:
            self._failures += 1
            failures, error = self._failures, _for_health(refusal)
            await self._term.write(lambda connection: keep_failure(connection, failures, error))
            _log.warning("the account could not be listed", failures=failures, reason=str(refusal))
            if self._account.is_trusted(state):
                await self._passes.hold_brakes(self._term)
            return False
        self._failures, self._pages = 0, facts.pages
        return True

    async def _look_at(self, moving: Sequence[WatchRow]) -> None:
        """One GET for each that has an upstream; a create that is looked up has none yet."""

        async def one(row: WatchRow) -> str | None:
            was_found = await self._missing.look(self._term, row)
            return row.upstream_id if was_found else None

        found = await each(moving, one, lambda row: row.id)
        await self._startups.judge(self._term, {upstream_id for upstream_id in found if upstream_id})


def _for_health(refusal: CloudRefusal) -> str:
    """Return why a pass was refused, without what is out of date before the next one."""
    if isinstance(refusal, CircuitOpen):
        return "the cloud has failed repeatedly and is not being asked just now"
    return refusal.told


def _due(connection: Connection, since: datetime) -> tuple[WatchState, Sequence[WatchRow]]:
    return read_watch_state(connection), rows_in_transition(connection, since)
