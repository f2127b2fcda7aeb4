"""The table of API keys: who may come in, as what, until when. Of a key itself only the digest is kept.

A revoked key stays as a row. Every change that matters to who is let in counts as a change of the part `KEYS`
and is announced; when a key was last used is neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    LargeBinary,
    String,
    Table,
    bindparam,
    insert,
    select,
    update,
)
from sqlalchemy import RowMapping as Row

from ostler.domain.keys import Grant, Holder
from ostler.domain.roles import Role
from ostler.store.instants import Instant
from ostler.store.revisions import Part, note_change
from ostler.store.schema import metadata
from ostler.store.signals import announce

TOPIC = "keys"

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("project", String, nullable=True),  # null: of all projects
    Column("expires_at", Instant, nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("created_by", String, nullable=False),
    Column("last_used_at", Instant, nullable=True),
    Column("revoked_at", Instant, nullable=True),
    Index("ix_api_keys_project", "project", "id"),
)


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """A key as it stands in the store."""

    holder: Holder
    digest: bytes
    created_at: datetime
    created_by: str
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Which keys to list, newest first; `before_id` continues behind the last one of a page."""

    project: str | None = None
    with_revoked: bool = False
    before_id: str | None = None
    limit: int = 100


def insert_key(connection: Connection, row: ApiKeyRow) -> None:
    """Write a new key."""
    holder = row.holder
    values = {
        "id": holder.key_id,
        "digest": row.digest,
        "name": holder.name,
        "role": holder.grant.role.value,
        "project": holder.grant.project,
        "expires_at": holder.grant.expires_at,
        "created_at": row.created_at,
        "created_by": row.created_by,
    }
    connection.execute(insert(api_keys).values(values))
    _tell(connection, holder.key_id)


def find_key(connection: Connection, key_id: str) -> ApiKeyRow | None:
    """Return one key, revoked or not."""
    found = connection.execute(select(api_keys).where(api_keys.c.id == key_id)).mappings().first()
    return None if found is None else _row(found)


def list_keys(connection: Connection, wanted: KeyFilter) -> Sequence[ApiKeyRow]:
    """Return a page of keys, newest first."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.project is not None:
        conditions.append(api_keys.c.project == wanted.project)
    if not wanted.with_revoked:
        conditions.append(api_keys.c.revoked_at.is_(None))
    if wanted.before_id is not None:
        conditions.append(api_keys.c.id < wanted.before_id)
    query = select(api_keys).where(*conditions).order_by(api_keys.c.id.desc()).limit(wanted.limit)
    return [_row(found) for found in connection.execute(query).mappings()]


def living_keys(connection: Connection, now: datetime) -> Mapping[bytes, Holder]:
    """Return who is let in, by the digest of their key."""
    is_in_time = api_keys.c.expires_at.is_(None) | (api_keys.c.expires_at > now)
    query = select(api_keys).where(api_keys.c.revoked_at.is_(None), is_in_time)
    return {found["digest"]: _holder(found) for found in connection.execute(query).mappings()}


def revoke_key(connection: Connection, key_id: str, at: datetime) -> bool:
    """Let a key open nothing any more; False when that was so already."""
    statement = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    is_news = connection.execute(statement.values(revoked_at=at)).rowcount > 0
    if is_news:
        _tell(connection, key_id)
    return is_news


def note_uses(connection: Connection, uses: Mapping[str, datetime]) -> None:
    """Note when keys were last used; an older note never replaces a newer one."""
    connection.execute(_USED, [{"used_id": key_id, "used_at": at} for key_id, at in uses.items()])


_USED = (
    update(api_keys)
    .where(
        api_keys.c.id == bindparam("used_id"),
        api_keys.c.last_used_at.is_(None) | (api_keys.c.last_used_at < bindparam("used_at", type_=Instant())),
    )
    .values(last_used_at=bindparam("used_at", type_=Instant()))
)


def _tell(connection: Connection, key_id: str) -> None:
    note_change(connection, Part.KEYS, key_id)
    announce(connection, TOPIC)


def _row(found: Row) -> ApiKeyRow:
    return ApiKeyRow(
        holder=_holder(found),
        digest=found["digest"],
        created_at=found["created_at"],
        created_by=found["created_by"],
        last_used_at=found["last_used_at"],
        revoked_at=found["revoked_at"],
    )


def _holder(found: Row) -> Holder:
    grant = Grant(Role(found["role"]), found["project"], found["expires_at"])
    return Holder(found["id"], found["name"], grant)
