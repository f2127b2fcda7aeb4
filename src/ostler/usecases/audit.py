"""The audit log: a line for each deed, in the very transaction of what it changes, or by itself.

A *deed* is a request that changes something, or reads what is secret, while it is being answered. Use
cases that change something for a caller write through `write_signed`: the line stands or falls with the
change. What changes no row (a cache, a refusal) gets its line from the layer that made the deed, before the
answer is sent.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy import Connection

from ostler.store.audit_log import AuditEntry, AuditFilter, append_entry, list_entries
from ostler.store.database import Database

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a deed turned out to be about."""

    kind: str
    id: str
    project: str | None = None


@dataclass(slots=True)
class Deed:
    """`draft` tells who does what from where; `signed` is what stands in the log already."""

    draft: Callable[[], AuditEntry]
    subject: Subject | None = None
    signed: AuditEntry | None = None

    def entry(self) -> AuditEntry:
        """Return the line as far as it is known now."""
        return about(self.draft(), self.subject)


_deed: ContextVar[Deed | None] = ContextVar("deed", default=None)


@contextmanager
def doing(deed: Deed) -> Iterator[None]:
    """Have what is written through `write_signed` in the block signed as this deed."""
    token = _deed.set(deed)
    try:
        yield
    finally:
        _deed.reset(token)


def note_subject(kind: str, subject_id: str, project: str | None) -> None:
    """Say what the deed of this request is about, if it is one."""
    deed = _deed.get()
    if deed is not None:
        deed.subject = Subject(kind, subject_id, project)


async def write_signed(
    database: Database, work: Callable[[Connection], T], is_change: Callable[[T], bool] = lambda _: True
) -> T:
    """Run `work` in one transaction, with the line of this request's deed if it has changed something."""
    deed = _deed.get()
    if deed is None:
        return await database.write(work)
    line: AuditEntry | None = None

    def both(connection: Connection) -> T:
        nonlocal line
        result = work(connection)
        line = deed.entry() if is_change(result) else None
        if line is not None:
            append_entry(connection, line)
        return result

    result = await database.write(both)
    deed.signed = line or deed.signed
    return result


def about(entry: AuditEntry, subject: Subject | None) -> AuditEntry:
    """Return an entry with what the subject adds: its project, and itself where no path named one."""
    if subject is None:
        return entry
    project = subject.project or entry.project
    if entry.target_id is not None:
        return replace(entry, project=project)
    return replace(entry, target_kind=subject.kind, target_id=subject.id, project=project)


class AuditLog:
    """Writes single lines, and shows the log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, entry: AuditEntry) -> None:
        """Write a line of what changed no row; raise StoreUnavailable."""
        await self._database.write(lambda connection: append_entry(connection, entry))

    async def page(self, wanted: AuditFilter) -> Sequence[AuditEntry]:
        """Return a page, newest first. The caller narrows it to what its asker may see."""
        return await self._database.read(lambda connection: list_entries(connection, wanted))
