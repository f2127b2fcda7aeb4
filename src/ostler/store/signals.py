"""Signals: words that hurry work along after a commit. A lost one costs seconds, never truth.

A *topic* is a short word ("jobs"). Inside a transaction `announce` names it and `on_commit` leaves a
callback; both happen only after the commit, on the event loop, and never after a rollback. Listeners must
re-read the rows: a signal carries no facts. On PostgreSQL topics also reach the other processes.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

_KEY = "ostler.aftermath"


@dataclass(slots=True)
class Aftermath:
    """What one transaction wants done once it is committed."""

    callbacks: list[Callable[[], None]] = field(default_factory=list)
    topics: dict[str, None] = field(default_factory=dict)  # a set that keeps its order
    touched: set[str] = field(default_factory=set)  # what stamps count the changes of


def begin_aftermath(connection: Connection) -> Aftermath:
    """Give the transaction that begins now an empty aftermath; called by the databases alone."""
    aftermath = Aftermath()
    connection.info[_KEY] = aftermath
    return aftermath


def on_commit(connection: Connection, callback: Callable[[], None]) -> None:
    """Have `callback` called on the event loop right after this transaction is committed."""
    _aftermath(connection).callbacks.append(callback)


def announce(connection: Connection, topic: str) -> None:
    """Have the listeners of `topic` called right after this transaction is committed."""
    _aftermath(connection).topics[topic] = None


def touch(connection: Connection, subject: str) -> None:
    """Say that what is told of an instance is changed by this transaction; see `stamps.py`."""
    _aftermath(connection).touched.add(subject)


def _aftermath(connection: Connection) -> Aftermath:
    aftermath: object = connection.info.get(_KEY)
    assert isinstance(aftermath, Aftermath), "only inside Database.write is there a commit to wait for"
    return aftermath


class Signals:
    """Who listens to which topic in this process. Lives on the event loop; not for other threads."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Callable[[], None]]] = {}

    def listen(self, topic: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called at each signal of `topic`; call what is returned to stop."""
        listeners = self._listeners.setdefault(topic, [])
        listeners.append(callback)

        def stop() -> None:
            if callback in listeners:
                listeners.remove(callback)

        return stop

    def fire(self, topics: Iterable[str]) -> None:
        """Call every listener of these topics soon, each on its own, so that none can spoil another's."""
        loop = asyncio.get_running_loop()
        for topic in topics:
            for callback in self._listeners.get(topic, ()):
                loop.call_soon(callback)

    def fire_all(self) -> None:
        """Call everybody: signals may have been lost."""
        self.fire(tuple(self._listeners))

    def deliver(self, aftermath: Aftermath) -> None:
        """Do what a committed transaction asked for."""
        loop = asyncio.get_running_loop()
        for callback in aftermath.callbacks:
            loop.call_soon(callback)
        self.fire(aftermath.topics)
