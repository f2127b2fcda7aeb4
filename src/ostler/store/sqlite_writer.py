"""The one thread that writes to SQLite. Many queued writes share a commit: this is *group commit*.

Each write runs in a savepoint of its own, so that one that fails takes nobody with it; the commit, one
flush of the disk, is for all. No caller hears of success before it. Called by `sqlite.py` alone.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ostler.store.database import StoreUnavailable, Trouble
from ostler.store.signals import Aftermath, Signals, begin_aftermath
from ostler.store.sqlite_connection import SqliteLink, SqliteSource, translated
from ostler.store.sqlite_file import DATABASE, OpenFile
from ostler.store.stamps import Stamps

_GROUP = 256  # at most this many writes wait for one another's commit
_GROUP_S = 0.01  # and the first of them no longer than this


@dataclass(slots=True)
class Order:
    """A write that somebody waits for, and in time what became of it."""

    work: Callable[[Connection], object]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[object]
    aftermath: Aftermath | None = None  # set: it ran, and its effects wait for the commit
    result: object = None
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Forget what it did: none of it was kept."""
        self.aftermath, self.result, self.error = None, None, error


class SqliteWriter:
    """Takes orders from event loops and carries them out in groups, in the order in which they came."""

    def __init__(self, source: SqliteSource, file: OpenFile, signals: Signals, stamps: Stamps) -> None:
        self._source = source
        self._file = file
        self._stamps = stamps
        self._signals = signals
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._link: SqliteLink | None = None
        self._thread = threading.Thread(target=self._work_off, name="sqlite-writer", daemon=True)

    def start(self) -> None:
        """Open the connection, so that what is wrong with the file shows now, and begin to take orders."""
        self._link = SqliteLink(self._source, writes=True)
        self._thread.start()

    def submit(self, order: Order) -> None:
        """Queue an order; its future is settled on its own event loop."""
        self._orders.put(order)

    def close(self) -> None:
        """Work off what is queued, then end; blocks."""
        self._orders.put(None)
        self._thread.join()
        if self._link is not None:
            self._link.close()

    def _work_off(self) -> None:
        while (order := self._orders.get()) is not None:
            group = [order]
            self._attempt(group)
            _deliver(group, self._signals)

    def _attempt(self, group: list[Order]) -> None:
        try:
            self._carry_out(group)
        except (DBAPIError, StoreUnavailable) as error:
            seen = translated(error, writes=True)
            if isinstance(seen, StoreUnavailable):
                self._fail_all(group, seen)
            elif len(group) == 1:
                group[0].fail(error)
            else:  # the commit was refused for what one of them did: each alone, and only that one is refused
                for order in group:
                    self._attempt([order])

    def _carry_out(self, group: list[Order]) -> None:
        """Run the group's first order and those that come meanwhile in one transaction."""
        self._file.require_in_place()
        link = self._open_link()
        began = self._source.clock.monotonic()
        with contextlib.ExitStack() as changing, link.connection.begin():
            _run(group[0], link)
            while len(group) < _GROUP and self._source.clock.monotonic() - began < _GROUP_S:
                order = self._next_queued()
                if order is None:
                    break
                group.append(order)
                _run(order, link)
            changing.enter_context(self._stamps.changing(_touched(group)))  # until after the commit

    def _next_queued(self) -> Order | None:
        try:
            order = self._orders.get_nowait()
        except queue.Empty:
            return None
        if order is None:
            self._orders.put(None)  # the word to end: for the outer loop
        return order

    def _open_link(self) -> SqliteLink:
        if self._link is None:
            self._link = SqliteLink(self._source, writes=True)
        return self._link

    def _fail_all(self, group: list[Order], error: StoreUnavailable) -> None:
        """Fail the group and those queued behind: they would only wait for the same failure."""
        while (order := self._next_queued()) is not None:
            group.append(order)
        for order in group:
            order.fail(order.error or error)
        self._drop_link()

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(DBAPIError):
                link.close()


def _touched(group: list[Order]) -> set[str]:
    return set().union(*(order.aftermath.touched for order in group if order.aftermath is not None))


def _run(order: Order, link: SqliteLink) -> None:
    if order.future.cancelled():
        return
    link.mark_beginning()
    aftermath = begin_aftermath(link.connection)
    savepoint = link.connection.begin_nested()
    try:
        order.result = order.work(link.connection)
        savepoint.commit()
    except BaseException as error:  # the caller's: it travels to them in the future
        seen = translated(error, writes=True)
        order.fail(seen)
        if not link.is_in_transaction:
            trouble = seen.trouble if isinstance(seen, StoreUnavailable) else Trouble.DISK_FAILING
            raise StoreUnavailable(DATABASE, trouble, f"the transaction was ended by {error}") from error
        savepoint.rollback()
    else:
        order.aftermath = aftermath


def _deliver(group: list[Order], signals: Signals) -> None:
    """Tell each event loop once about all orders of the group that are its own."""
    for loop in {order.loop for order in group}:
        mine = [order for order in group if order.loop is loop]
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody is left to hear
            loop.call_soon_threadsafe(_settle, mine, signals)


def _settle(orders: list[Order], signals: Signals) -> None:
    for order in orders:
        if order.aftermath is not None:
            signals.deliver(order.aftermath)
        if order.future.done():
            continue
        if order.error is None:
            order.future.set_result(order.result)
        else:
            order.future.set_exception(order.error)
