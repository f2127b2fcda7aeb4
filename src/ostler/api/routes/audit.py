"""`/api/audit`: who changed what, or tried to, from where. For administrators.

An administrator who is bound to a project sees what was done to it, and with its keys.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from ostler.api.backing import WithAuditLog
from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Form, GivenInstant, Identifier, Instant, Question
from ostler.domain.roles import Role
from ostler.store.audit_log import AuditEntry, AuditFilter, AuditOutcome, Means

router = APIRouter(prefix="/api/audit", tags=["audit"])
_CURSOR = Form(r"^[1-9][0-9]{0,17}$", "the `nextCursor` of a page")


class AuditQuestion(Question):
    """Which lines."""

    key: str | None = Field(None, max_length=64, description="the id or the name of a key")
    action: str | None = Field(
        None, max_length=128, description="such as `POST /api/instances`, or a beginning such as `DELETE *`"
    )
    instance_id: Identifier | None = None
    target: str | None = Field(None, max_length=64, description="an id of whatever kind")
    project: str | None = Field(None, max_length=63)
    outcome: AuditOutcome | None = None
    since: GivenInstant | None = None
    until: GivenInstant | None = Field(None, description="lines from before this instant")
    cursor: Annotated[str, _CURSOR] | None = Field(None, description="`nextCursor` of the page before")
    limit: int = Field(100, ge=1, le=500)


class AuditLineAnswer(Answer):
    """One line."""

    id: int
    at: Instant
    action: str = Field(description="the method and the route; `?` where nothing is")
    outcome: AuditOutcome
    status: int
    code: str | None = Field(description="why it was refused")
    key_id: str | None = Field(description="null: nobody that is known")
    key_name: str | None
    role: Role | None
    means: Means = Field(description="by what they came in")
    address: str
    user_agent: str
    target_kind: str | None
    target_id: str | None
    project: str | None = Field(description="of the target, else of the key")
    fields: list[str] = Field(description="the names of what was sent")
    request_id: str


class AuditAnswer(Answer):
    """One page of the log, newest first."""

    entries: list[AuditLineAnswer]
    limit: int
    next_cursor: str | None


@router.get("", summary="Who changed what, newest first")
async def audit(on: Exchange, log: WithAuditLog, question: Annotated[AuditQuestion, Query()]) -> AuditAnswer:
    wanted = AuditFilter(
        key=question.key,
        action=question.action,
        instance_id=question.instance_id,
        target_id=question.target,
        project=on.caller.meant(question.project),
        outcome=question.outcome,
        since=question.since,
        until=question.until,
        before_id=None if question.cursor is None else int(question.cursor),
        limit=question.limit + 1,
    )
    found = await log.page(wanted)
    shown = found[: question.limit]
    next_cursor = str(shown[-1].id) if len(found) > question.limit else None
    return AuditAnswer(entries=[_line(each) for each in shown], limit=question.limit, next_cursor=next_cursor)


def _line(entry: AuditEntry) -> AuditLineAnswer:
    return AuditLineAnswer(
        id=entry.id,
        at=entry.at,
        action=entry.action,
        outcome=entry.outcome,
        status=entry.status,
        code=entry.code,
        key_id=entry.key_id,
        key_name=entry.key_name,
        role=None if entry.role is None else Role(entry.role),
        means=entry.means,
        address=entry.address,
        user_agent=entry.user_agent,
        target_kind=entry.target_kind,
        target_id=entry.target_id,
        project=entry.project,
        fields=list(entry.fields),
        request_id=entry.request_id,
    )
