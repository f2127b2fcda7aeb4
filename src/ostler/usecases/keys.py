"""Keys, as their administrators have them: make, list, look at, revoke.

Whoever is bound to a project has its keys alone, and nobody makes a key that may more than their own. A key
is returned by `make` and by nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.errors import Missing, Thing
from ostler.domain.keys import KEY_BYTES, Grant, Holder, digest_of, granted, new_key
from ostler.store.api_keys import ApiKeyRow, KeyFilter, find_key, insert_key, list_keys, revoke_key
from ostler.store.database import Database
from ostler.store.sessions import close_sessions_of
from ostler.usecases.audit import note_subject, write_signed
from ostler.usecases.ids import Ids
from ostler.usecases.key_book import KeyBook


@dataclass(frozen=True, slots=True)
class Made:
    """A new key, for the only time."""

    row: ApiKeyRow
    key: SecretStr


class Keys:
    """The use cases of keys; `own` is who asks."""

    def __init__(self, database: Database, book: KeyBook, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._book = book
        self._clock = clock
        self._ids = ids

    async def make(self, name: str, asked: Grant, own: Holder) -> Made:
        """Make a key; raise NotAllowed, OutsideProject or RequestInvalid."""
        now = self._clock.now()
        grant = granted(name, asked, own.grant, now)
        key = new_key(self._ids.entropy(KEY_BYTES))
        holder = Holder(f"key_{self._ids.new(now)}", name, grant)
        row = ApiKeyRow(holder, digest_of(key), now, own.name)
        note_subject("key", holder.key_id, grant.project)
        await write_signed(self._database, lambda connection: insert_key(connection, row))
        await self._book.check()
        return Made(row, SecretStr(key))

    async def page(self, wanted: KeyFilter) -> Sequence[ApiKeyRow]:
        """Return keys, newest first. The caller narrows it to what its asker may see."""
        rows = await self._database.read(lambda connection: list_keys(connection, wanted))
        return [self._up_to_date(row) for row in rows]

    async def one(self, key_id: str, own: Holder) -> ApiKeyRow:
        """Return one key; raise Missing."""
        row = await self._database.read(lambda connection: _visible(connection, key_id, own))
        return self._up_to_date(row)

    async def revoke(self, key_id: str, own: Holder) -> ApiKeyRow:
        """Let a key and its sessions open nothing any more, from now on; raise Missing."""
        now = self._clock.now()

        def work(connection: Connection) -> ApiKeyRow:
            _visible(connection, key_id, own)
            if revoke_key(connection, key_id, now):
                close_sessions_of(connection, key_id)
            return _visible(connection, key_id, own)

        row = await write_signed(self._database, work)
        await self._book.check()
        return self._up_to_date(row)

    def _up_to_date(self, row: ApiKeyRow) -> ApiKeyRow:
        uses = (row.last_used_at, self._book.last_use(row.holder.key_id))
        last = max((at for at in uses if at is not None), default=None)
        return replace(row, last_used_at=last)


def _visible(connection: Connection, key_id: str, own: Holder) -> ApiKeyRow:
    row = find_key(connection, key_id)
    project = own.grant.project
    if row is None or (project is not None and row.holder.grant.project != project):
        raise Missing(Thing.OTHER, key_id)
    note_subject("key", key_id, row.holder.grant.project)
    return row
