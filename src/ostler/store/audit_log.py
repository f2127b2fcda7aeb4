"""The table of the audit log: who changed, read in secret, or tried to, what, from where, with which outcome.

Append-only: an entry is written in the transaction of the change that it tells of, or by itself when nothing
was changed, and goes when it is old. It never holds a value that was sent, only the names of fields.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    RowMapping,
    SmallInteger,
    String,
    Table,
    and_,
    delete,
    insert,
    or_,
    select,
)

from ostler.store.instants import Instant
from ostler.store.schema import Key, metadata

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Key, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("request_id", String, nullable=False),
    Column("means", String, nullable=False),
    Column("key_id", String, nullable=True),  # null: nobody that is known
    Column("key_name", String, nullable=True),
    Column("role", String, nullable=True),
    Column("address", String, nullable=False),
    Column("user_agent", String, nullable=False),
    Column("action", String, nullable=False),
    Column("target_kind", String, nullable=True),
    Column("target_id", String, nullable=True),
    Column("project", String, nullable=True),  # of the target, else of the key
    Column("fields", String, nullable=False),  # names, with commas between
    Column("outcome", String, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("code", String, nullable=True),
    Index("ix_audit_log_at", "at"),
    Index("ix_audit_log_target_id", "target_id", "id"),
)


class Means(StrEnum):
    """By what somebody came in."""

    KEY = "key"
    SESSION = "session"
    LINK = "link"  # the one-time link that is printed at start
    OPEN = "open"  # no key is asked for: OSTLER_AUTH=off
    NONE = "none"  # nothing good was shown


class AuditOutcome(StrEnum):
    """What became of it."""

    DONE = "done"
    REFUSED = "refused"  # 4xx: nothing was changed or shown
    FAILED = "failed"  # 5xx


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry. `id` is the store's: 0 until it is written."""

    at: datetime
    request_id: str
    means: Means
    address: str
    action: str  # the method and the route
    outcome: AuditOutcome
    status: int
    key_id: str | None = None
    key_name: str | None = None
    role: str | None = None
    user_agent: str = ""
    target_kind: str | None = None
    target_id: str | None = None
    project: str | None = None
    fields: Sequence[str] = ()
    code: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries, newest first; `before_id` continues behind the last one of a page."""

    key: str | None = None  # its id or its name
    action: str | None = None  # `DELETE *`: all that begin so
    instance_id: str | None = None
    target_id: str | None = None  # of whatever kind
    project: str | None = None
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    until: datetime | None = None
    before_id: int | None = None
    limit: int = 100


def append_entry(connection: Connection, entry: AuditEntry) -> None:
    """Write an entry at the end of the log."""
    values = {name: getattr(entry, name) for name in _PLAIN}
    connection.execute(_APPEND, values | {"fields": ",".join(entry.fields)})


def list_entries(connection: Connection, wanted: AuditFilter) -> Sequence[AuditEntry]:
    """Return a page of entries, newest first."""
    query = select(audit_log).where(*_conditions(wanted)).order_by(audit_log.c.id.desc()).limit(wanted.limit)
    return [_entry(found) for found in connection.execute(query).mappings()]


def delete_entries(connection: Connection, before: datetime, limit: int) -> int:
    """Forget the oldest entries; return how many went."""
    old = select(audit_log.c.id).where(audit_log.c.at < before).order_by(audit_log.c.at).limit(limit)
    return connection.execute(delete(audit_log).where(audit_log.c.id.in_(old))).rowcount


def _conditions(wanted: AuditFilter) -> Iterator[ColumnElement[bool]]:
    columns = audit_log.c
    exactly = {
        columns.target_id: wanted.target_id,
        columns.project: wanted.project,
        columns.outcome: wanted.outcome,
    }
    yield from (column == value for column, value in exactly.items() if value is not None)
    if wanted.key is not None:
        yield or_(columns.key_id == wanted.key, columns.key_name == wanted.key)
    if wanted.action is not None:
        yield _begins(columns.action, wanted.action)
    if wanted.instance_id is not None:
        yield and_(columns.target_kind == "instance", columns.target_id == wanted.instance_id)
    if wanted.since is not None:
        yield columns.at >= wanted.since
    if wanted.until is not None:
        yield columns.at < wanted.until
    if wanted.before_id is not None:
        yield columns.id < wanted.before_id


def _begins(column: Column[str], text: str) -> ColumnElement[bool]:
    if text.endswith("*"):
        return column.startswith(text[:-1], autoescape=True)
    return column == text


def _entry(found: RowMapping) -> AuditEntry:
    values = {name: found[name] for name in _PLAIN}
    names = tuple(filter(None, found["fields"].split(",")))
    values |= {"means": Means(found["means"]), "outcome": AuditOutcome(found["outcome"])}
    return AuditEntry(**values, fields=names, id=found["id"])


_PLAIN = tuple(column.name for column in audit_log.columns if column.name not in {"id", "fields"})
_APPEND = insert(audit_log)
