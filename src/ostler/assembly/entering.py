"""How people and programs get in: the administrator's key, the book of all other keys, and the sessions.

The book is kept fresh while the block lasts.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ostler.assembly.core import Core
from ostler.clock import Clock
from ostler.datadir import DataDirectory
from ostler.engine.outlive import outlive
from ostler.settings import Settings
from ostler.usecases.key_book import KeyBook
from ostler.usecases.keys import Keys
from ostler.usecases.signing_in import Sessions, SessionSeal

ADMIN_KEY_FILE = "admin.key"


@dataclass(frozen=True, slots=True)
class AdminKey:
    """The administrator's key. `file` None: it was given, not made."""

    key: str
    file: Path | None


@dataclass(frozen=True, slots=True)
class Entering:
    """What lets in."""

    book: KeyBook
    sessions: Sessions
    keys: Keys


def admin_key(settings: Settings, directory: DataDirectory) -> AdminKey:
    """Return the key of the settings, else the one that is made once and kept in a file."""
    if settings.admin_key is not None:
        return AdminKey(settings.admin_key.get_secret_value(), None)
    return AdminKey(directory.secret(ADMIN_KEY_FILE, "ostler"), directory.path / ADMIN_KEY_FILE)


@asynccontextmanager
async def entering(core: Core, admin: AdminKey, clock: Clock) -> AsyncIterator[Entering]:
    """Keep the book of keys, and write down at the end when they were last used."""
    book = KeyBook(core.database, clock, admin.key)
    seal = SessionSeal(admin.key, secrets.token_bytes)
    keeping = asyncio.create_task(book.run(), name="keep the book of keys")
    try:
        yield Entering(
            book,
            Sessions(core.database, book, clock, seal),
            Keys(core.database, book, clock, core.minting.ids),
        )
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await outlive(book.note_uses, "noting when keys were used")
