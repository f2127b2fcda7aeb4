"""The table of idempotency keys: what was answered to a request that may come again.

A key is unique per holder of an API key and route. The row is written in the transaction of the request
that it answers, so only successes are kept, and of two that race one is refused by the key and finds the
other's answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, String, Table, delete, insert, select, tuple_

from ostler.store.encoded import Encoded
from ostler.store.instants import Instant
from ostler.store.schema import metadata

idempotency = Table(
    "idempotency",
    metadata,
    Column("holder", String, primary_key=True),
    Column("route", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("body_hash", String, nullable=False),
    Column("answer", Encoded(dict[str, str]), nullable=False),
    Column("answered_at", Instant, nullable=False),
    Index("ix_idempotency_answered_at", "answered_at"),
)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Whose key, on which route, of which body (its hash)."""

    holder: str
    route: str
    key: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What was answered to a body, as ids."""

    body_hash: str
    answer: Mapping[str, str]
    answered_at: datetime


def find_answer(connection: Connection, request: RequestKey) -> GivenAnswer | None:
    """Return what was answered to this key before, whatever the body was."""
    query = select(idempotency.c.body_hash, idempotency.c.answer, idempotency.c.answered_at).where(
        idempotency.c.holder == request.holder,
        idempotency.c.route == request.route,
        idempotency.c.key == request.key,
    )
    row = connection.execute(query).first()
    return None if row is None else GivenAnswer(row.body_hash, row.answer, row.answered_at)


def keep_answer(connection: Connection, request: RequestKey, answer: Mapping[str, str], at: datetime) -> None:
    """Keep an answer; IntegrityError when another transaction kept one for this key."""
    connection.execute(
        _INSERT,
        {
            "holder": request.holder,
            "route": request.route,
            "key": request.key,
            "body_hash": request.body_hash,
            "answer": dict(answer),
            "answered_at": at,
        },
    )


def forget_answer(connection: Connection, request: RequestKey) -> None:
    """Forget what was answered to one key, because it is too old to count."""
    connection.execute(
        delete(idempotency).where(
            idempotency.c.holder == request.holder,
            idempotency.c.route == request.route,
            idempotency.c.key == request.key,
        )
    )


def delete_answers(connection: Connection, before: datetime, limit: int) -> int:
    """Forget answers that were given before an instant, at most `limit` of them; return how many."""
    key = (idempotency.c.holder, idempotency.c.route, idempotency.c.key)
    old = select(*key).where(idempotency.c.answered_at < before).limit(limit)
    return connection.execute(delete(idempotency).where(tuple_(*key).in_(old))).rowcount


_INSERT = insert(idempotency)
