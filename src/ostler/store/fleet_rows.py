"""All living instances at once, each with what was last seen of its upstream: for the merged list.

One query: what a list shows, the last look at the present upstream, and when something was last asked that is
still open or was sent to the cloud.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping

from ostler.domain.lifecycle import State
from ostler.domain.upstream import UpstreamState
from ostler.store.instance_lists import Summary, summaries, summary_row
from ostler.store.instances import instances
from ostler.store.looks import looks
from ostler.store.operations import operations


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One living instance."""

    summary: Summary
    upstream_state: UpstreamState | None  # as last believed
    asked_at: datetime | None
    look: str | None  # its content


def living_fleet(connection: Connection, project: str | None = None) -> Sequence[FleetRow]:
    """Return all instances that are not terminated, of one project or of all, newest first."""
    query = _FLEET if project is None else _FLEET.where(instances.c.project == project)
    return [_fleet_row(found) for found in connection.execute(query).mappings()]


_FLEET = (
    summaries(
        instances.c.upstream_state,
        instances.c.command,
        looks.c.content.label("look"),
        operations.c.opened_at,
    )
    .outerjoin(operations, (operations.c.instance_id == instances.c.id) & operations.c.outcome.is_(None))
    .where(instances.c.state != State.TERMINATED.value)
    .order_by(instances.c.id.desc())
)


def _fleet_row(found: RowMapping) -> FleetRow:
    word, command = found["upstream_state"], found["command"]
    sent_at = None if command is None else command.answered_at or command.sent_at
    asked = [at for at in (found["opened_at"], sent_at) if at is not None]
    return FleetRow(
        summary=summary_row(found),
        upstream_state=None if word is None else UpstreamState(word),
        asked_at=max(asked, default=None),
        look=found["look"],
    )
