"""Leader work: a body of which one runs in the whole cluster, under a lease on the database's clock.

The holder renews at a third of the term and stops acting at two thirds after the last renewal that it knows
of, by its own monotonic clock; others may take over at the whole. A holder that slept through all that is
fenced by the epoch: its writes go through `Term.write`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.engine.config import EngineConfig
from ostler.engine.kind import fenced
from ostler.store.database import Database, StoreUnavailable
from ostler.store.leases import Leadership, acquire, is_leading, prolong, release

T = TypeVar("T")
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class LeadershipLost(Exception):  # noqa: N818 -- says what is so; the leader's part is merely over
    """Somebody else leads by now."""

    def __init__(self, held: Leadership) -> None:
        super().__init__(f"the lead of {held.name} under epoch {held.epoch} is lost")
        self.held = held


class Term:
    """One time of leading, for its body."""

    def __init__(self, held: Leadership, database: Database, clock: Clock, acts_until: float) -> None:
        self.held = held
        self.acts_until = acts_until  # by the monotonic clock; moved on by each renewal
        self._database = database
        self._clock = clock

    @property
    def epoch(self) -> int:
        return self.held.epoch

    @property
    def may_act(self) -> bool:
        """Whether this process may still act; to be asked before every act outside the database."""
        return self._clock.monotonic() < self.acts_until

    def fence(self, connection: Connection) -> None:
        """Raise `LeadershipLost`, which undoes the transaction, unless the lead holds until its end."""
        if not is_leading(connection, self.held):
            raise LeadershipLost(self.held)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction that stands only if the lead does."""
        return await self._database.write(fenced(self.fence, work))


LeaderBody = Callable[[Term], Awaitable[None]]


class Leader:
    """Tries to lead `name`, and runs the body while it does."""

    def __init__(self, name: str, database: Database, clock: Clock, config: EngineConfig) -> None:
        self._name = name
        self._database = database
        self._clock = clock
        self._config = config
        self._log = _log.bind(lead=name, owner=config.owner)

    async def run(self, body: LeaderBody) -> None:
        """Lead whenever nobody else does, for ever."""
        while True:
            term = await self._begin()
            if term is not None:
                self._log.info("leading", epoch=term.epoch)
                try:
                    await self._lead(term, body)
                finally:
                    await self._end(term)
            await self._clock.sleep(self._config.longest_poll.total_seconds())

    async def _begin(self) -> Term | None:
        asked_at = self._clock.monotonic()
        try:
            who = (self._name, self._config.owner, self._config.leader_term)
            held = await self._database.write(lambda connection: acquire(connection, *who))
        except StoreUnavailable:
            return None
        return None if held is None else Term(held, self._database, self._clock, self._acts_until(asked_at))

    def _acts_until(self, asked_at: float) -> float:
        return asked_at + self._config.leader_term.total_seconds() * 2 / 3

    async def _lead(self, term: Term, body: LeaderBody) -> None:
        """Run the body until it ends, the lease is lost, or two thirds of the term pass without a renewal."""
        coroutines = (body(term), self._renew(term), self._wait_until_over(term))
        parts = [asyncio.ensure_future(part) for part in coroutines]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            results = await asyncio.gather(*parts, return_exceptions=True)
        for error in results:
            if isinstance(error, LeadershipLost | StoreUnavailable):
                self._log.warning("the lead is over", epoch=term.epoch, reason=str(error))
            elif isinstance(error, Exception):
                self._log.error("leading ended by an error", epoch=term.epoch, exc_info=error)

    async def _renew(self, term: Term) -> None:
        while True:
            await self._clock.sleep(self._config.leader_term.total_seconds() / 3)
            while not await self._renew_once(term):
                await self._clock.sleep(self._config.shortest_poll.total_seconds())

    async def _renew_once(self, term: Term) -> bool:
        """Renew; False when the database is away; raise when the lead is another's."""
        asked_at = self._clock.monotonic()
        try:
            is_mine = await self._database.write(
                lambda connection: prolong(connection, term.held, self._config.leader_term)
            )
        except StoreUnavailable:
            return False
        if not is_mine:
            raise LeadershipLost(term.held)
        term.acts_until = self._acts_until(asked_at)
        return True

    async def _wait_until_over(self, term: Term) -> None:
        while term.may_act:
            await self._clock.sleep(term.acts_until - self._clock.monotonic())

    async def _end(self, term: Term) -> None:
        term.acts_until = self._clock.monotonic()
        try:
            await self._database.write(lambda connection: release(connection, term.held))
        except StoreUnavailable as error:
            self._log.warning("the lead could not be handed over: it runs out by itself", reason=str(error))
