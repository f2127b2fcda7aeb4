"""Signing in and out: how a browser, which cannot send a bearer key, stays known after it has shown one.

A *session* is a random token in a cookie. It names the key that opened it and ends with that key, with its
own time, or when its holder signs out. Each sign-in makes a new token, whatever the browser had before, so
that none can be planted. Tokens are kept as digests under the administrator's key: when that one changes, all
sessions are worth nothing.
"""

import hmac
from datetime import timedelta

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.keys import Holder, digest_of
from ostler.store.database import Database
from ostler.store.sessions import SessionRow, close_session, open_session
from ostler.usecases.audit import note_subject, write_signed
from ostler.usecases.ids import Entropy
from ostler.usecases.key_book import KeyBook, Pass

SESSION_LIFE = timedelta(days=7)
_TOKEN_BYTES = 32


class Sessions:
    """Opens, finds and closes sessions."""

    def __init__(self, database: Database, book: KeyBook, clock: Clock, seal: "SessionSeal") -> None:
        self._database = database
        self._book = book
        self._clock = clock
        self._seal = seal

    async def open(self, holder: Holder, replaced: str) -> str:
        """Return the token of a new session; the one that it replaces is closed."""
        token = self._seal.new_token()
        now = self._clock.now()
        row = SessionRow(self._seal.digest_of(token), holder.key_id, now, now + SESSION_LIFE)

        def work(connection: Connection) -> None:
            close_session(connection, self._seal.digest_of(replaced))
            open_session(connection, row)

        note_subject("key", holder.key_id, holder.grant.project)
        await write_signed(self._database, work)
        await self._book.check()
        return token

    async def behind(self, token: str) -> Pass | None:
        """Return what a token lets in."""
        return await self._book.by_session(self._seal.digest_of(token)) if token else None

    async def close(self, token: str) -> None:
        """End a session; it may have ended already."""
        await write_signed(
            self._database, lambda connection: close_session(connection, self._seal.digest_of(token))
        )
        await self._book.check()


class SessionSeal:
    """Makes tokens, and what is kept of them."""

    def __init__(self, admin_key: str, entropy: Entropy) -> None:
        self._seal = hmac.digest(digest_of(admin_key), b"ostler session", "sha256")
        self._entropy = entropy

    def new_token(self) -> str:
        """Return a token that nobody guesses."""
        return self._entropy(_TOKEN_BYTES).hex()

    def digest_of(self, token: str) -> bytes:
        """Return what is kept of a token."""
        return hmac.digest(self._seal, token.encode(), "sha256")
