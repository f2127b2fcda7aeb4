"""One call of the vendor's API from request to our value: send it, judge the answer, read it.

An answer that cannot be read is Malformed for a read and Ambiguous for a write, because the write was done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from ostler.cloud.lane import Lane
from ostler.cloud.novita import wire
from ostler.cloud.novita.errors import refusal_of
from ostler.cloud.refusals import Ambiguous, Malformed
from ostler.cloud.request import Kind, Reply, Request
from ostler.cloud.transport import Transport

T = TypeVar("T")

_FIRST_REFUSAL = 300


@dataclass(frozen=True, slots=True)
class Calls:
    """Carries out calls on a transport."""

    transport: Transport

    async def read(self, request: Request, parse: Callable[[object, datetime], T], subject: str = "") -> T:
        """Return what an answer says; `subject` is what a "not found" would be about."""
        reply = await self.transport.send(request)
        if reply.status >= _FIRST_REFUSAL:
            raise refusal_of(request, reply, subject)
        try:
            return parse(wire.document(reply.body), reply.began_at)
        except wire.Unreadable as error:
            raise Malformed(request.operation, error.field, error.seen) from error

    async def write(self, request: Request, subject: str = "", secrets: Sequence[str] = ()) -> wire.Row:
        """Carry out a write and return its answer, which may be empty."""
        reply = await self.transport.send(request)
        if reply.status >= _FIRST_REFUSAL:
            raise refusal_of(request, reply, subject, secrets)
        try:
            return acknowledged(reply)
        except wire.Unreadable as error:
            raise Ambiguous(request.operation, f"the answer cannot be read: {error}") from error


def acknowledged(reply: Reply) -> wire.Row:
    """Read the answer to a write: an object, a bare id, or nothing at all."""
    answer = wire.document(reply.body)
    match answer:
        case None:
            return {}
        case str():
            return {"id": answer}
        case _:
            return wire.as_row(answer, "body")


def reading(operation: str, path: str, lane: Lane, query: Mapping[str, str] | None = None) -> Request:
    """Return the request of a read."""
    return Request(operation, Kind.READ, lane, "GET", path, query or {})


def writing(operation: str, path: str, lane: Lane, body: Mapping[str, object]) -> Request:
    """Return the request of a write to something that exists."""
    return Request(operation, Kind.WRITE, lane, "POST", path, body=body)
