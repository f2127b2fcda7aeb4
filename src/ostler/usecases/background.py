"""Background work as people see it, whatever it is beneath: a job, an operation or a delivery.

The words are the earlier service's. An id is a letter for what lies beneath and the id that it has there:
`j12` a job of the engine, `o23ob…` an operation that waits for the cloud, `d7` a webhook's delivery.
"""

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from ostler.domain.operations import OperationKind, Outcome
from ostler.store.job_views import JobView
from ostler.store.jobs import JobStatus, Priority
from ostler.store.operations import OperationRow
from ostler.store.webhook_deliveries import DeliveryStatus
from ostler.store.webhook_views import LAST_ID, DeliveryView


class WorkStatus(StrEnum):
    """How far a piece of work is."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"  # given up, cancelled or superseded: `error` says which


class Kin(StrEnum):
    """What lies beneath; its value begins the ids."""

    JOB = "j"
    OPERATION = "o"
    DELIVERY = "d"


SEND_WEBHOOK = "send_webhook"
MONITORS: Mapping[OperationKind, str] = {
    OperationKind.CREATE: "monitor_instance",
    OperationKind.START: "monitor_startup",
    OperationKind.RESTART: "monitor_startup",
    OperationKind.MIGRATE: "monitor_startup",
}
JOB_STATUSES: Mapping[JobStatus, WorkStatus] = {
    JobStatus.WAITING: WorkStatus.PENDING,
    JobStatus.RUNNING: WorkStatus.PROCESSING,
    JobStatus.DONE: WorkStatus.COMPLETED,
    JobStatus.FAILED: WorkStatus.FAILED,
    JobStatus.CANCELLED: WorkStatus.FAILED,
}
OUTCOMES: Mapping[Outcome | None, WorkStatus] = {
    None: WorkStatus.PROCESSING,
    Outcome.SUCCEEDED: WorkStatus.COMPLETED,
    Outcome.FAILED: WorkStatus.FAILED,
    Outcome.SUPERSEDED: WorkStatus.FAILED,
}
DELIVERY_STATUSES: Mapping[DeliveryStatus, WorkStatus] = {
    DeliveryStatus.WAITING: WorkStatus.PENDING,
    DeliveryStatus.SENDING: WorkStatus.PROCESSING,
    DeliveryStatus.DELIVERED: WorkStatus.COMPLETED,
    DeliveryStatus.FAILED: WorkStatus.FAILED,
    DeliveryStatus.CANCELLED: WorkStatus.FAILED,
}
_CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """One piece of work. `payload` holds ids; `max_attempts` None: without end."""

    id: str
    type: str
    status: WorkStatus
    priority: Priority
    payload: Mapping[str, str]
    attempts: int
    max_attempts: int | None
    created_at: datetime
    processed_at: datetime | None
    completed_at: datetime | None
    next_retry_at: datetime | None
    error: str | None

    @property
    def kin(self) -> Kin:
        """What lies beneath it."""
        return Kin(self.id[0])

    @property
    def beneath(self) -> str:
        """The id that it has there."""
        return self.id[1:]


def of_job(found: JobView) -> BackgroundJob:
    """Show a job of the engine."""
    subject = {"instanceId": found.subject} if found.subject else {}
    return BackgroundJob(
        id=f"{Kin.JOB}{found.id}",
        type=found.kind,
        status=JOB_STATUSES[found.status],
        priority=found.priority,
        payload={**subject, **found.payload},
        attempts=found.attempts,
        max_attempts=found.max_attempts,
        created_at=found.created_at,
        processed_at=found.started_at,
        completed_at=found.finished_at,
        next_retry_at=found.due_at if found.status is JobStatus.WAITING else None,
        error=_CANCELLED if found.status is JobStatus.CANCELLED else found.error,
    )


def of_operation(row: OperationRow) -> BackgroundJob:
    """Show an operation that waits for the cloud: one attempt, since asking again is another operation."""
    operation = row.operation
    error = None if operation.failure is None else f"{operation.failure.code}: {operation.failure.message}"
    return BackgroundJob(
        id=f"{Kin.OPERATION}{operation.id}",
        type=MONITORS[operation.kind],
        status=OUTCOMES[operation.outcome],
        priority=Priority.HIGH,
        payload={
            "instanceId": operation.instance_id,
            "operationId": operation.id,
            "operation": operation.kind.value,
        },
        attempts=1,
        max_attempts=1,
        created_at=operation.opened_at,
        processed_at=operation.phases[0].began_at if operation.phases else None,
        completed_at=operation.ended_at,
        next_retry_at=None,
        error="superseded" if operation.outcome is Outcome.SUPERSEDED else error,
    )


def of_delivery(found: DeliveryView) -> BackgroundJob:
    """Show a webhook's delivery."""
    ids = {
        "instanceId": found.instance_id,
        "deliveryId": str(found.id),
        "endpointId": found.endpoint_id,
        "messageId": found.message_id,
        "event": found.event,
    }
    last = found.log[-1] if found.log else None
    is_delivered = found.status is DeliveryStatus.DELIVERED
    return BackgroundJob(
        id=f"{Kin.DELIVERY}{found.id}",
        type=SEND_WEBHOOK,
        status=DELIVERY_STATUSES[found.status],
        priority=Priority.NORMAL,
        payload={name: value for name, value in ids.items() if value is not None},
        attempts=found.attempts,
        max_attempts=None,
        created_at=found.created_at,
        processed_at=None if last is None else last.at,
        completed_at=found.finished_at,
        next_retry_at=found.next_attempt_at,
        error=_delivery_error(found) if not is_delivered else None,
    )


def _delivery_error(found: DeliveryView) -> str | None:
    if found.status is DeliveryStatus.CANCELLED:
        return _CANCELLED
    return found.log[-1].error if found.log else None


_NUMBERED = re.compile(r"[1-9][0-9]{0,18}")
_NAMED = re.compile(r"[0-9a-z]{1,64}")


def split(job_id: str) -> tuple[Kin, str] | None:
    """Return what an id names; None: it is the id of nothing, whatever there is."""
    if job_id[:1] not in set(Kin):
        return None
    kin, beneath = Kin(job_id[0]), job_id[1:]
    if kin is Kin.OPERATION:
        return (kin, beneath) if _NAMED.fullmatch(beneath) else None
    is_key = _NUMBERED.fullmatch(beneath) is not None and int(beneath) <= LAST_ID
    return (kin, beneath) if is_key else None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page of the three lists together ended: in each, only what is below its bound comes after."""

    job: int
    operation: str
    delivery: int

    def __str__(self) -> str:
        return f"{Kin.JOB}{self.job}.{Kin.OPERATION}{self.operation}.{Kin.DELIVERY}{self.delivery}"


POSITION = r"^j[0-9]{1,18}\.o[0-9a-z]{1,64}\.d[0-9]{1,18}$"


def position(cursor: str) -> Position:
    """Read a position that matches POSITION."""
    job, operation, delivery = (part[1:] for part in cursor.split("."))
    return Position(int(job), operation, int(delivery))


@dataclass(frozen=True, slots=True)
class BackgroundPage:
    """One page, newest first. `next` None: it is the last one."""

    jobs: Sequence[BackgroundJob]
    next: Position | None


def merged(lists: Mapping[Kin, Sequence[BackgroundJob]], limit: int) -> BackgroundPage:
    """Return one page of lists that are each newest first, and one longer than the page if they can."""
    together = heapq.merge(*lists.values(), key=lambda each: each.created_at, reverse=True)
    page = list(islice(together, limit))
    if sum(map(len, lists.values())) <= limit:
        return BackgroundPage(page, None)
    bounds = {kin: _bound(lists.get(kin, ()), [each for each in page if each.kin is kin]) for kin in Kin}
    after = Position(int(bounds[Kin.JOB]), bounds[Kin.OPERATION], int(bounds[Kin.DELIVERY]))
    return BackgroundPage(page, after)


def _bound(listed: Sequence[BackgroundJob], shown: Sequence[BackgroundJob]) -> str:
    """Return below what a list goes on: what came into it meanwhile belongs to no later page."""
    if shown:
        return shown[-1].beneath
    if not listed:
        return "0"  # below every id
    kin, first = listed[0].kin, listed[0].beneath
    return f"{first}0" if kin is Kin.OPERATION else str(int(first) + 1)
