"""What routes show of an event of the log.

The same words as in webhooks and in the live feed; `elapsedTime` is in milliseconds.
"""

from collections.abc import Mapping
from datetime import timedelta

from pydantic import Field

from ostler.api.model import Answer, Instant
from ostler.store.events import EventRow


class EventAnswer(Answer):
    """Who did what, from where to where, and why."""

    id: int
    event: str
    instance_id: str | None
    sequence: int | None
    project: str | None
    timestamp: Instant
    from_: str | None = Field(alias="from")
    to: str | None
    reason: str | None
    alarm: bool
    actor: str
    operation_id: str | None
    elapsed_time: int | None
    details: Mapping[str, object]


def event_of(row: EventRow) -> EventAnswer:
    """Return an event as it is shown; `elapsedTime` is in milliseconds."""
    return EventAnswer(
        id=row.id,
        event=row.name,
        instance_id=row.instance_id,
        sequence=row.sequence,
        project=row.project,
        timestamp=row.at,
        **{"from": row.from_state},
        to=row.to_state,
        reason=row.reason or None,
        alarm=row.is_alarm,
        actor=row.actor,
        operation_id=row.operation_id,
        elapsed_time=None if row.elapsed is None else row.elapsed // timedelta(milliseconds=1),
        details=row.details,
    )
