"""`/api/keys`: who may come in, as what, until when. A key is shown once, when it is made.

An administrator who is bound to a project has its keys alone; nobody makes a key that may more than theirs.
"""

from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from ostler.api.backing import WithKeys
from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Form, GivenInstant, Identifier, Instant, Question
from ostler.api.routes.instance_bodies import Project
from ostler.domain.keys import Grant
from ostler.domain.roles import Role
from ostler.store.api_keys import ApiKeyRow, KeyFilter

router = APIRouter(prefix="/api/keys", tags=["keys"])
_NAME = Form(
    r"^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,62}$",
    "1 to 63 letters, digits, spaces, `.`, `_`, `@` and `-`, the first a letter or digit",
)


class KeyStatus(StrEnum):
    """Whether a key lets anybody in."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class KeyBody(Question):
    """The key that is wanted."""

    name: Annotated[str, _NAME] = Field(description="under which its holder stands in events and operations")
    role: Role = Field(Role.VIEWER, description="at most your own")
    project: Project | None = Field(None, description="the only one that exists for the key; null: all")
    expires_at: GivenInstant | None = Field(None, description="at most your own key's")


class KeyAnswer(Answer):
    """A key, without the key itself."""

    id: str
    name: str
    role: Role
    project: str | None
    status: KeyStatus
    created_at: Instant
    created_by: str
    expires_at: Instant | None
    last_used_at: Instant | None = Field(description="to about a minute")
    revoked_at: Instant | None


class NewKeyAnswer(KeyAnswer):
    """A new key, for the only time."""

    key: str


class KeysQuestion(Question):
    """Which keys."""

    revoked: bool = Field(default=False, description="also those that were revoked")
    project: str | None = Field(None, max_length=63)
    before: Identifier | None = Field(None, description="the last id of the page before")
    limit: int = Field(100, ge=1, le=500)


class KeysAnswer(Answer):
    """One page of keys, newest first."""

    keys: list[KeyAnswer]


@router.get("", summary="List keys, newest first")
async def keys(on: Exchange, known: WithKeys, question: Annotated[KeysQuestion, Query()]) -> KeysAnswer:
    project = on.caller.meant(question.project)
    wanted = KeyFilter(project, question.revoked, question.before, question.limit)
    return KeysAnswer(keys=[_key(row, on.occasion.at) for row in await known.page(wanted)])


@router.post("", status_code=HTTPStatus.CREATED, summary="Make a key; it is shown this once")
async def make(body: KeyBody, on: Exchange, known: WithKeys, response: Response) -> NewKeyAnswer:
    made = await known.make(body.name, Grant(body.role, body.project, body.expires_at), on.caller.holder)
    response.headers["Location"] = f"/api/keys/{made.row.holder.key_id}"
    response.headers["Cache-Control"] = "no-store"
    shown = _key(made.row, on.occasion.at)
    return NewKeyAnswer(**shown.model_dump(), key=made.key.get_secret_value())


@router.get("/{key_id}", summary="One key")
async def key(key_id: Identifier, on: Exchange, known: WithKeys) -> KeyAnswer:
    return _key(await known.one(key_id, on.caller.holder), on.occasion.at)


@router.delete("/{key_id}", summary="Revoke a key, and sign out who came in with it")
async def revoke(key_id: Identifier, on: Exchange, known: WithKeys) -> KeyAnswer:
    return _key(await known.revoke(key_id, on.caller.holder), on.occasion.at)


def _key(row: ApiKeyRow, now: datetime) -> KeyAnswer:
    holder = row.holder
    return KeyAnswer(
        id=holder.key_id,
        name=holder.name,
        role=holder.grant.role,
        project=holder.grant.project,
        status=_status(row, now),
        created_at=row.created_at,
        created_by=row.created_by,
        expires_at=holder.grant.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


def _status(row: ApiKeyRow, now: datetime) -> KeyStatus:
    if row.revoked_at is not None:
        return KeyStatus.REVOKED
    return KeyStatus.EXPIRED if row.holder.is_expired(now) else KeyStatus.ACTIVE
