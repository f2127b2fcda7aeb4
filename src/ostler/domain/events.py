"""The names under which the world hears of what happens, and one event before it is written.

Names are an interface: the time line, the live feed and webhooks carry them. Which transition says
which name is decided by `lifecycle.py`; numbering and writing belong to the store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class PublicEvent(StrEnum):
    """Everything that can be told."""

    CREATING = "instance.creating"
    PLACED = "instance.placed"
    STARTING = "instance.starting"
    RUNNING = "instance.running"
    HEALTH_CHECKING = "instance.health_checking"
    USABLE = "instance.usable"  # exactly once per start: `readyAt` was set
    READY = "instance.ready"
    FAILED = "instance.failed"
    STOPPING = "instance.stopping"
    EXITED = "instance.exited"
    MIGRATING = "instance.migrating"
    MIGRATED = "instance.migrated"
    TERMINATING = "instance.terminating"
    TERMINATED = "instance.terminated"
    SPOT_NOTICE = "instance.spot_notice"
    IDLE = "instance.idle"
    HEALTH = "instance.health"
    LIMIT_WARNING = "instance.limit_warning"
    OFFER_MISMATCH = "instance.offer_mismatch"
    DELETE_STUCK = "instance.delete_stuck"
    DATA_EXPIRING = "instance.data_expiring"
    UPSTREAM_UNKNOWN = "instance.upstream_unknown"  # the cloud used a word that we do not know
    OPERATION_SUCCEEDED = "operation.succeeded"
    OPERATION_FAILED = "operation.failed"
    OPERATION_SUPERSEDED = "operation.superseded"
    ORPHAN_FOUND = "orphan.found"
    ORPHAN_ADOPTED = "orphan.adopted"
    DUPLICATE_REMOVED = "orphan.duplicate_removed"
    BUDGET_WARNING = "budget.warning"
    BUDGET_EXCEEDED = "budget.exceeded"
    ACCOUNT_LOW_BALANCE = "account.low_balance"
    ACCOUNT_SUSPECT = "account.suspect"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """One event of one instance, before the store numbers and writes it."""

    name: PublicEvent
    from_state: str | None
    to_state: str
    reason: str = ""
    is_alarm: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
