"""`/api/jobs`: what works in the background, as people see it; cancel and retry act on what lies beneath.

It shows the jobs of the engine, the operations that wait for the cloud (`monitor_instance`,
`monitor_startup`) and the webhooks (`send_webhook`), in the words of the earlier service.
"""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Form, Identifier, Instant, Question
from ostler.usecases.background import POSITION, BackgroundJob, WorkStatus, position
from ostler.usecases.background_lists import WorkFilter, WorkStats

router = APIRouter(prefix="/api/jobs", tags=["jobs"])
_CURSOR = Form(POSITION, "the `nextCursor` of a page")


class JobsQuestion(Question):
    """Which jobs."""

    type: str | None = Field(None, max_length=64)
    status: WorkStatus | None = None
    instance_id: Identifier | None = None
    cursor: Annotated[str, _CURSOR] | None = Field(None, description="`nextCursor` of the page before")
    limit: int = Field(100, ge=1, le=500)


class JobAnswer(Answer):
    """One piece of work."""

    id: str = Field(description="`j…` a job, `o…` an operation, `d…` a webhook's delivery")
    type: str
    status: WorkStatus
    priority: str
    payload: Mapping[str, str]
    attempts: int
    max_attempts: int | None
    created_at: Instant
    processed_at: Instant | None
    completed_at: Instant | None
    next_retry_at: Instant | None
    error: str | None


class JobsAnswer(Answer):
    """One page of jobs, newest first."""

    jobs: list[JobAnswer]
    limit: int
    next_cursor: str | None


class JobCountAnswer(Answer):
    """How many jobs of a type are in a status."""

    type: str
    status: WorkStatus
    count: int
    oldest_created_at: Instant
    oldest_due_at: Instant | None


class JobStatsAnswer(Answer):
    """The state of all work: what is open, and what ended and is not cleaned away."""

    at: Instant
    counts: list[JobCountAnswer]
    total: int
    by_status: Mapping[WorkStatus, int]
    by_type: Mapping[str, int]
    oldest_wait_seconds: float
    finished_last_minute: int
    finished_last_hour: int


@router.get("", summary="List jobs, newest first")
async def jobs(on: Exchange, question: Annotated[JobsQuestion, Query()]) -> JobsAnswer:
    wanted = WorkFilter(
        type=question.type,
        status=question.status,
        instance_id=question.instance_id,
        project=on.asker.project,
        after=None if question.cursor is None else position(question.cursor),
        limit=question.limit,
    )
    page = await on.instances.jobs.page(wanted)
    cursor = None if page.next is None else str(page.next)
    return JobsAnswer(jobs=[_job(each) for each in page.jobs], limit=question.limit, next_cursor=cursor)


@router.get("/stats", summary="How much work there is")
async def stats(on: Exchange) -> JobStatsAnswer:
    return _stats(await on.instances.jobs.stats(on.asker))


@router.get("/{job_id}", summary="One job")
async def job(job_id: Identifier, on: Exchange) -> JobAnswer:
    return _job(await on.instances.jobs.one(job_id, on.asker))


@router.post("/{job_id}/cancel", summary="Give up a job that is open")
async def cancel(job_id: Identifier, on: Exchange) -> JobAnswer:
    return _job(await on.instances.jobs.cancel(job_id, on.asker, on.occasion))


@router.post("/{job_id}/retry", summary="Do a job now")
async def retry(job_id: Identifier, on: Exchange) -> JobAnswer:
    return _job(await on.instances.jobs.retry(job_id, on.asker, on.occasion))


def _job(found: BackgroundJob) -> JobAnswer:
    return JobAnswer(
        id=found.id,
        type=found.type,
        status=found.status,
        priority=found.priority.name.lower(),
        payload=found.payload,
        attempts=found.attempts,
        max_attempts=found.max_attempts,
        created_at=found.created_at,
        processed_at=found.processed_at,
        completed_at=found.completed_at,
        next_retry_at=found.next_retry_at,
        error=found.error,
    )


def _stats(found: WorkStats) -> JobStatsAnswer:
    by_status = dict.fromkeys(WorkStatus, 0)
    by_type: dict[str, int] = {}
    for each in found.counts:
        by_status[each.status] += each.count
        by_type[each.type] = by_type.get(each.type, 0) + each.count
    return JobStatsAnswer(
        at=found.at,
        counts=[
            JobCountAnswer(
                type=each.type,
                status=each.status,
                count=each.count,
                oldest_created_at=each.oldest_at,
                oldest_due_at=each.oldest_due_at,
            )
            for each in found.counts
        ],
        total=sum(by_status.values()),
        by_status=by_status,
        by_type=by_type,
        oldest_wait_seconds=found.oldest_wait.total_seconds(),
        finished_last_minute=found.finished_last_minute,
        finished_last_hour=found.finished_last_hour,
    )
