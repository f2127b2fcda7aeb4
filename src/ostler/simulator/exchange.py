"""One *exchange*: a request as it came in, and everything that may come back, or not.

These values are all that passes between the pretend cloud and its HTTP server, or a test that has no server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import orjson

from ostler.simulator.refusal import Refusal

JSON_TYPE = "application/json"
HTML_TYPE = "text/html"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = JSON_TYPE


class ErrorBody(StrEnum):
    """The forms in which the cloud says no; clients have met all of them."""

    ENVELOPE = "envelope"  # code, reason, message and metadata
    MESSAGE = "message"  # only `message`
    ERROR = "error"  # only `error`
    EMPTY = "empty"  # nothing but the status


@dataclass(frozen=True, slots=True)
class Hangup:
    """The connection is reset instead of an answer."""


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer comes, ever; the connection stays open until the client gives up."""


Outcome: TypeAlias = Reply | Hangup | Silence


def json_reply(content: object) -> Reply:
    """Return the answer of a call that went well; with nothing to say, 204 and no type."""
    if content is None:
        return Reply(204, b"", content_type="")
    return Reply(200, orjson.dumps(content))


def refusal_reply(refusal: Refusal, form: ErrorBody = ErrorBody.ENVELOPE) -> Reply:
    """Return the answer of a refusal, in the cloud's envelope or in another of its forms."""
    if form is ErrorBody.EMPTY:
        return Reply(refusal.status, b"", content_type="")
    if form is not ErrorBody.ENVELOPE:
        return Reply(refusal.status, orjson.dumps({form.value: refusal.message}))
    envelope = {
        "code": refusal.status,
        "reason": refusal.reason,
        "message": refusal.message,
        "metadata": refusal.metadata,
    }
    return Reply(refusal.status, orjson.dumps(envelope))


def gateway_reply(status: int, title: str) -> Reply:
    """Return the page that a gateway shows when what lies behind it does not answer."""
    page = (
        f"<html>\r\n<head><title>{status} {title}</title></head>\r\n<body>\r\n"
        f"<center><h1>{status} {title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    return Reply(status, page.encode(), content_type=HTML_TYPE)
