"""Requests that may come twice: the same Idempotency-Key and body get the same answer for 24 hours.

A key is held by this process while its first request is being answered; the answer is stored in that
request's own transaction, so a refusal or a crash leaves the key free. Between processes the table's key
decides.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.domain.errors import IdempotencyKeyInUse, IdempotencyKeyReused
from ostler.store.idempotency import RequestKey, find_answer, forget_answer

KEPT_FOR = timedelta(hours=24)


class KeysInUse:
    """The keys whose first request is being answered by this process."""

    def __init__(self) -> None:
        self._held: set[tuple[str, str, str]] = set()

    @contextmanager
    def holding(self, request: RequestKey | None) -> Iterator[None]:
        """Hold a key while its request is answered; raise IdempotencyKeyInUse when another does."""
        if request is None:
            yield
            return
        held = (request.holder, request.route, request.key)
        if held in self._held:
            raise IdempotencyKeyInUse
        self._held.add(held)
        try:
            yield
        finally:
            self._held.discard(held)


def answer_given(connection: Connection, request: RequestKey, now: datetime) -> Mapping[str, str] | None:
    """Return what was answered to this very request; raise IdempotencyKeyReused for another body."""
    found = find_answer(connection, request)
    if found is None or now - found.answered_at >= KEPT_FOR:
        return None
    if found.body_hash != request.body_hash:
        raise IdempotencyKeyReused
    return found.answer


def forget_if_old(connection: Connection, request: RequestKey, now: datetime) -> None:
    """Make room for a new answer where one has outlived its time."""
    found = find_answer(connection, request)
    if found is not None and now - found.answered_at >= KEPT_FOR:
        forget_answer(connection, request)
