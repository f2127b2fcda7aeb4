"""The periodic work on the audit log: forgetting lines that are old, a batch at a time.

How long they are kept is a setting, `OSTLER_AUDIT_DAYS`.
"""

from dataclasses import dataclass
from datetime import timedelta

from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done
from ostler.store.audit_log import delete_entries
from ostler.store.jobs import Priority
from ostler.usecases.clearing import clear

THIN_AUDIT = Kind("audit.clean_up", priority=Priority.LOW, every=timedelta(hours=1))


@dataclass(frozen=True, slots=True)
class ThinAudit:
    """The body of `THIN_AUDIT`."""

    kept_for: timedelta

    async def __call__(self, context: JobContext) -> Done:
        before = context.claimed_at - self.kept_for
        await clear(context, lambda connection, limit: delete_entries(connection, before, limit))
        return Done()
