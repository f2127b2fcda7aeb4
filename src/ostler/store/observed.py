"""A database that is watched: how long its transactions take, seen from those who wait for them.

It also carries the caller's context into the transaction's thread, so that what is written and logged there
knows which request or job it belongs to. Wraps any `Database`; the assembly alone makes one.
"""

from collections.abc import Callable
from contextvars import copy_context
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.store.database import Database, StoreUnavailable
from ostler.store.signals import Signals
from ostler.store.stamps import Stamps

T = TypeVar("T")


class TransactionObserver(Protocol):
    """Hears of transactions as they end."""

    def __call__(self, access: str, outcome: str, seconds: float, /) -> None:
        """Hear of a `read` or `write` that was `done`, found the database `away`, or `failed`."""
        ...


class ObservedDatabase:
    """Passes everything on."""

    def __init__(self, database: Database, clock: Clock, *observers: TransactionObserver) -> None:
        self._database = database
        self._clock = clock
        self._observers = observers

    @property
    def is_exclusive(self) -> bool:
        return self._database.is_exclusive

    @property
    def stamps(self) -> Stamps | None:
        return self._database.stamps

    @property
    def signals(self) -> Signals:
        return self._database.signals

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await self._timed("write", self._database.write, work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._timed("read", self._database.read, work)

    async def close(self) -> None:
        await self._database.close()

    async def _timed(self, access: str, transact: "_Transact", work: Callable[[Connection], T]) -> T:
        began = self._clock.monotonic()
        outcome = "failed"
        try:
            result = await transact(_in_this_context(work))
            outcome = "done"
        except StoreUnavailable:
            outcome = "away"
            raise
        finally:
            seconds = self._clock.monotonic() - began
            for observe in self._observers:
                observe(access, outcome, seconds)
        return result


def _in_this_context(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    context = copy_context()
    return lambda connection: context.run(work, connection)


class _Transact(Protocol):
    async def __call__(self, work: Callable[[Connection], T], /) -> T: ...
