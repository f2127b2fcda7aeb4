"""The key book: all keys and sessions that are good now, in memory, so that no request asks the database.

It is read anew when a key or session changes: here at once, in other processes when they hear of it, or
within a second. A book that could not be checked for five seconds is not believed: whoever asks then waits
for the database. What it does not have is looked for once more, since another process may just have made it.
Who holds on to a key or session for long is let go when it ends.
"""

import asyncio
import hmac
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.keys import Grant, Holder, digest_of
from ostler.domain.roles import Role
from ostler.engine.bell import Bell
from ostler.engine.outlive import outlive
from ostler.store.api_keys import TOPIC, living_keys, note_uses
from ostler.store.database import Database
from ostler.store.revisions import Part, read_revision
from ostler.store.sessions import SessionRow, living_sessions

ADMINISTRATOR = Holder("admin", "admin", Grant(Role.ADMIN))
_POLL_S = 1.0
_STALEST_S = 5.0
_LEAST_PAUSE_S = 0.05  # between two readings, so that guessing keys costs the database little
_USES_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Pass:
    """What lets somebody in: a key, or a session that was opened with one. `digest` names it."""

    holder: Holder
    digest: bytes
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Pages:
    revision: int = -1
    keys: Mapping[bytes, Holder] = field(default_factory=dict)
    holders: Mapping[str, Holder] = field(default_factory=dict)  # the same, by the key's id
    sessions: Mapping[bytes, SessionRow] = field(default_factory=dict)


class KeyBook:
    """One per process. `run` keeps it fresh."""

    def __init__(self, database: Database, clock: Clock, admin_key: str) -> None:
        self._database = database
        self._clock = clock
        self._admin_digest = digest_of(admin_key)
        self._pages = _Pages()
        self._checked_at = -math.inf
        self._checking = asyncio.Lock()
        self._uses: dict[str, datetime] = {}
        self._held: dict[bytes, set[asyncio.Timeout]] = {}

    async def run(self) -> None:
        """Keep the book fresh and note uses now and then, for ever; cancel to stop."""
        bell = Bell(self._clock)
        stop_listening = self._database.signals.listen(TOPIC, bell.ring)
        noted_at = self._clock.monotonic()
        try:
            while True:
                await outlive(self.check, "checking the keys")
                if self._clock.monotonic() - noted_at >= _USES_EVERY_S:
                    noted_at = self._clock.monotonic()
                    await outlive(self.note_uses, "noting when keys were used")
                await bell.wait(_POLL_S)
        finally:
            stop_listening()

    async def by_key(self, digest: bytes) -> Pass | None:
        """Return what a key lets in; None: it is unknown, revoked or expired."""
        if hmac.compare_digest(digest, self._admin_digest):
            return Pass(ADMINISTRATOR, digest, None)
        return await self._found(lambda pages: _key_in(pages, digest))

    async def by_session(self, digest: bytes) -> Pass | None:
        """Return what a session lets in; None: it or its key is unknown, revoked or expired."""
        return await self._found(lambda pages: _session_in(pages, digest))

    async def check(self) -> None:
        """See to it that the book is no older than this call; raise StoreUnavailable."""
        asked_at = self._clock.monotonic()
        async with self._checking:
            if self._checked_at > asked_at:
                return  # somebody has looked since
            pause_s = self._checked_at + _LEAST_PAUSE_S - asked_at
            if pause_s > 0:
                await self._clock.sleep(pause_s)
            began_at = self._clock.monotonic()
            now, known = self._clock.now(), self._pages.revision
            pages = await self._database.read(lambda connection: _read(connection, known, now))
            self._checked_at = began_at
            if pages is not None:
                self._pages = pages
                self._let_go()

    @contextmanager
    def holding(self, shown: Pass) -> Iterator[asyncio.Timeout]:
        """Give a time limit that is over as soon as the pass is worth nothing any more."""
        left_s = None
        if shown.ends_at is not None:
            left_s = max(0.0, (shown.ends_at - self._clock.now()).total_seconds())
        deadline = None if left_s is None else asyncio.get_running_loop().time() + left_s
        fence = asyncio.timeout_at(deadline)
        holders = self._held.setdefault(shown.digest, set())
        holders.add(fence)
        try:
            yield fence
        finally:
            holders.discard(fence)
            if not holders:
                self._held.pop(shown.digest, None)

    async def note_uses(self) -> None:
        """Write down when keys were last used."""
        uses, self._uses = self._uses, {}
        if uses:
            await self._database.write(lambda connection: note_uses(connection, uses))

    def last_use(self, key_id: str) -> datetime | None:
        """Return when a key was used here, if that is not written down yet."""
        return self._uses.get(key_id)

    async def _found(self, look: Callable[[_Pages], Pass | None]) -> Pass | None:
        if self._clock.monotonic() - self._checked_at > _STALEST_S:
            await self.check()
        found = look(self._pages)
        if found is None:
            await self.check()
            found = look(self._pages)
        now = self._clock.now()
        if found is None or (found.ends_at is not None and found.ends_at <= now):
            return None
        if found.holder is not ADMINISTRATOR:
            self._uses[found.holder.key_id] = now
        return found

    def _let_go(self) -> None:
        for digest in [each for each in self._held if not self._is_good(each)]:
            for fence in self._held[digest]:
                if not fence.expired():
                    fence.reschedule(asyncio.get_running_loop().time())

    def _is_good(self, digest: bytes) -> bool:
        if hmac.compare_digest(digest, self._admin_digest):
            return True
        pages = self._pages
        return (_key_in(pages, digest) or _session_in(pages, digest)) is not None


def _read(connection: Connection, known_revision: int, now: datetime) -> _Pages | None:
    """Return what is in the tables, or None when it is what is known."""
    revision = read_revision(connection, (Part.KEYS,))
    if revision == known_revision:
        return None
    keys = living_keys(connection, now)
    holders = {holder.key_id: holder for holder in keys.values()}
    return _Pages(revision, keys, holders, living_sessions(connection, now))


def _key_in(pages: _Pages, digest: bytes) -> Pass | None:
    holder = pages.keys.get(digest)
    return None if holder is None else Pass(holder, digest, holder.grant.expires_at)


def _session_in(pages: _Pages, digest: bytes) -> Pass | None:
    session = pages.sessions.get(digest)
    if session is None:
        return None
    if session.key_id == ADMINISTRATOR.key_id:
        return Pass(ADMINISTRATOR, digest, session.ends_at)
    holder = pages.holders.get(session.key_id)
    if holder is None:
        return None
    ends = [at for at in (session.ends_at, holder.grant.expires_at) if at is not None]
    return Pass(holder, digest, min(ends))
