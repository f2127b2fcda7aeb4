"""Whether what the cloud lists is our account at all, and whether so much can be missing.

The digest of the key whose account is ours is kept. Another key is trusted once it shows an upstream that
we know, or when there is none to lose, or when a person says so; until then nothing is concluded and
nothing is written to the cloud (`guarded.py`). A loss that is too large is believed only when a person
confirms it.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ostler.domain.events import PublicEvent
from ostler.store.database import Database
from ostler.store.events import EventRow
from ostler.store.watch_rows import has_living_upstream
from ostler.store.watch_state import (
    Suspicion,
    WatchState,
    confirm_loss,
    read_watch_state,
    suspect,
    trust_key,
)
from ostler.usecases.audit import write_signed
from ostler.usecases.record import Recorder

_REASONS = {
    Suspicion.OTHER_ACCOUNT: "the key for the cloud has changed, and shows none of our instances",
    Suspicion.LOSS: "the cloud does not list a large part of the fleet any more",
}


@dataclass(frozen=True, slots=True)
class Account:
    """The account behind one key. Its methods with a connection run inside a transaction of the caller."""

    recorder: Recorder
    key_digest: str

    def is_trusted(self, state: WatchState) -> bool:
        """Tell whether the key's account is known to be ours, or is the first one ever used."""
        return state.key_digest in {None, self.key_digest}

    def examine(self, connection: Connection, at: datetime) -> WatchState:
        """Look at the key before anything is listed: trust the first one, and where nothing can be lost."""
        state = read_watch_state(connection)
        if state.key_digest == self.key_digest:
            return state
        if state.key_digest is None or not has_living_upstream(connection):
            trust_key(connection, self.key_digest)
        elif state.suspicion is not Suspicion.OTHER_ACCOUNT:
            self.raise_alarm(connection, Suspicion.OTHER_ACCOUNT, 0, at)
        return read_watch_state(connection)

    def trust(self, connection: Connection) -> None:
        """Take the key's account for ours, for it shows upstreams that we know."""
        trust_key(connection, self.key_digest)

    def raise_alarm(self, connection: Connection, suspicion: Suspicion, count: int, at: datetime) -> None:
        """Become suspicious; said once, until all is calm again."""
        is_new = read_watch_state(connection).suspicion is not suspicion
        suspect(connection, suspicion, count)
        if is_new:
            self.recorder.tell(connection, _alarm(suspicion, count, at))


class AccountDesk:
    """Where a person says that the account is right as it is. For the API, in any process."""

    def __init__(self, database: Database, account: Account) -> None:
        self._database = database
        self._account = account

    async def state(self) -> WatchState:
        """Return what is known, and suspected."""
        return await self._database.read(read_watch_state)

    async def confirm(self) -> WatchState:
        """Trust this process's key, and believe the loss that was seen; nothing when all is calm."""

        def work(connection: Connection) -> WatchState:
            state = read_watch_state(connection)
            if not self._account.is_trusted(state):
                trust_key(connection, self._account.key_digest)
            elif state.suspicion is Suspicion.LOSS:
                confirm_loss(connection, state.suspect_count)
            return read_watch_state(connection)

        return await write_signed(self._database, work)


def _alarm(suspicion: Suspicion, count: int, at: datetime) -> EventRow:
    return EventRow(
        PublicEvent.ACCOUNT_SUSPECT,
        at,
        reason=f"{_REASONS[suspicion]}; nothing is concluded from it until somebody confirms",
        is_alarm=True,
        actor="watcher",
        details={"suspicion": suspicion.value, "missing": count},
    )
