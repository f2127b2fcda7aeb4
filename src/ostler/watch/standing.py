"""What any process knows of the watcher, wherever it runs: its last pass, its age, its suspicions.

Follows the one row that the watcher writes, on a signal and by a slow poll behind it. For `/health`, for
metrics, for the age of what readers see; and the way to ask for a pass and wait for it.
"""

import asyncio
import contextlib
import math
from datetime import timedelta

import structlog

from ostler.clock import Clock
from ostler.engine.bell import Bell
from ostler.store.database import Database, StoreUnavailable
from ostler.store.watch_state import TOPIC, Suspicion, WatchState, ask_for_pass, read_watch_state
from ostler.usecases.health import Finding, Standing
from ostler.usecases.picture import STALE_AFTER, Picture
from ostler.watch.tower import WatchConfig

_POLL_S = 5.0
_MARGIN = timedelta(seconds=1)  # for a pass to begin, and to be heard of
_NO_TIME = timedelta(0)
_LATE_FACTOR = 3  # of the slow interval: then the watcher has fallen behind
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class WatchStanding:
    """One per process. `run` keeps it up to date; all else answers from what it knows."""

    def __init__(self, database: Database, clock: Clock, config: WatchConfig) -> None:
        self._database = database
        self._clock = clock
        self._config = config
        self._bell = Bell(clock)
        self._waiting: list[asyncio.Future[None]] = []
        self._began_at = clock.now()
        self.known = WatchState()
        self._picture = Picture()
        self._renewal: asyncio.Task[None] | None = None
        self._renewed_at = -math.inf

    async def run(self) -> None:
        """Follow the row, for ever."""
        stop = self._database.signals.listen(TOPIC, self._bell.ring)
        try:
            while True:
                try:
                    self._learn(await self._database.read(read_watch_state))
                except StoreUnavailable as error:
                    _log.warning("the watcher's state cannot be read", reason=str(error))
                await self._bell.wait(_POLL_S)
        finally:
            stop()

    def picture(self) -> Picture:
        """Return what the last pass showed that has seen everything there is."""
        return self._picture

    def is_blind(self) -> bool:
        """Tell whether nothing was ever seen, though nothing has failed."""
        return self.known.confirmed_at is None and not self.known.failures and self.known.suspicion is None

    def lag(self) -> timedelta | None:
        """Return how old the last whole picture is; None: there never was one."""
        confirmed_at = self.known.confirmed_at
        return None if confirmed_at is None else self._clock.now() - confirmed_at

    @property
    def interval(self) -> timedelta:
        """How often the account is looked at while nothing moves."""
        return self._config.slow

    def is_at_work(self) -> bool:
        """Tell whether passes come in time; while the cloud refuses them, time and use are judged anyway."""
        state, lag = self.known, self.lag()
        if lag is None or state.last_pass is None or state.suspicion is Suspicion.OTHER_ACCOUNT:
            return False
        return bool(state.failures) or not self._is_late(lag, state.last_pass.took)

    def finding(self) -> Finding:
        """Return the watcher's part of the health."""
        state, lag = self.known, self.lag()
        if state.suspicion is not None:
            detail = f"suspect: {_SUSPICIONS[state.suspicion]}; confirm the account"
            return Finding(Standing.DEGRADED, detail, state.confirmed_at)
        if state.failures:
            count = state.failures
            passes = "the last pass" if count == 1 else f"the last {count} passes"
            detail = f"{passes} came to nothing: {state.error}"
            return Finding(Standing.DEGRADED, detail, state.confirmed_at)
        if lag is None or state.last_pass is None:
            return Finding(Standing.UNKNOWN, "no pass yet")
        took = state.last_pass.took.total_seconds()
        if self._is_late(lag, state.last_pass.took):
            detail = f"the last whole pass began {lag.total_seconds():.0f} s ago"
            return Finding(Standing.DEGRADED, detail, state.confirmed_at)
        detail = f"{state.last_pass.rows} rows compared in {took:.2f} s"
        return Finding(Standing.HEALTHY, detail, state.confirmed_at)

    def _is_late(self, lag: timedelta, took: timedelta) -> bool:
        return lag > self._config.slow * _LATE_FACTOR + took

    async def request_pass(self, wait_at_most: timedelta) -> bool:
        """Have a pass made that begins from now on, and wait for its end; False: it did not come in time.

        Where the cloud refuses one meanwhile, no more is waited: the next would fare no better so soon.
        """
        deadline = self._clock.monotonic() + wait_at_most.total_seconds()
        failures = self.known.failures
        number = await self._database.write(ask_for_pass)
        while self.known.served < number:
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0 or self.known.failures not in {0, failures}:
                return False
            await self._next(left_s)
        return True

    def renew(self) -> None:
        """Have a pass made soon when the picture is old, unless that was asked for; waits for nothing."""
        now, lag = self._clock.monotonic(), self.lag()
        if lag is None or lag < STALE_AFTER or now - self._renewed_at < STALE_AFTER.total_seconds():
            return
        took = _NO_TIME if self.known.last_pass is None else self.known.last_pass.took
        if self._config.slow <= lag < self._config.slow + took + _MARGIN:
            return  # the watcher is at it
        self._renewed_at = now
        self._renewal = asyncio.create_task(self._ask(), name="ask for a pass")

    async def _ask(self) -> None:
        with contextlib.suppress(StoreUnavailable):  # a later read asks again
            await self._database.write(ask_for_pass)

    async def _next(self, at_most_s: float) -> None:
        news = asyncio.get_running_loop().create_future()
        self._waiting.append(news)
        sleeping = asyncio.ensure_future(self._clock.sleep(at_most_s))
        try:
            await asyncio.wait((news, sleeping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            if news in self._waiting:
                self._waiting.remove(news)

    def _learn(self, state: WatchState) -> None:
        self.known = state
        missing = () if state.last_pass is None else state.last_pass.missing
        self._picture = Picture(state.confirmed_at, frozenset(missing))
        waiting, self._waiting = self._waiting, []
        for news in waiting:
            if not news.done():
                news.set_result(None)


_SUSPICIONS = {
    Suspicion.OTHER_ACCOUNT: "the key has changed and shows none of our instances",
    Suspicion.LOSS: "a large part of the fleet is not listed any more",
}
