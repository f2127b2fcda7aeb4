"""Bodies: what may be sent at all, before anything reads it: JSON, and not too much of it.

What is announced as too large, or as something else, is refused unread; what grows too large is cut off.
An address with a NUL in it is refused, too: no id and no name has one, and not every database takes it.
"""

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from ostler.api.problems import Problem, WrongField, problem_answer, validation_problem
from ostler.clock import Clock

MAX_BODY_BYTES = 1_048_576
_MAX_FORM_BYTES = 16_384  # it holds a key; anybody may send one, and reading a large one takes half a second
_FORM_PATHS = frozenset({"/login"})
_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
_JSON_TYPES = ("application/json", "text/json")


class Bodies:
    """The ASGI layer that refuses bodies by type and announced size, and cuts off what grows too large."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._app = app
        self._limited = {
            most: RequestBodyLimitMiddleware(app, max_body_size=most)
            for most in (MAX_BODY_BYTES, _MAX_FORM_BYTES)
        }
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = _problem_with(scope) if scope["type"] == "http" else None
        if problem is None:
            app = self._limited[_most_bytes(scope["path"])] if _has_body(scope) else self._app
            await app(scope, receive, send)
            return
        await problem_answer(problem, scope, self._clock.now())(scope, receive, send)


def too_large(path: str) -> Problem:
    """Return the problem of a body that is larger than any that we read at a path."""
    most = _most_bytes(path)
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "PAYLOAD_TOO_LARGE",
        f"The body is larger than the {most} bytes that are allowed.",
        details={"maxBytes": most},
        headers={"Connection": "close"},
    )


def _problem_with(scope: Scope) -> Problem | None:
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        place = "path" if "\0" in scope["path"] else "query"
        wrong = WrongField(field=place, code="INVALID_CHARACTER", message="must not hold a NUL (%00)")
        return validation_problem([wrong])
    if not _has_body(scope):
        return None
    headers = Headers(scope=scope)
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > _most_bytes(scope["path"]):
        return too_large(scope["path"])
    has_body = length != "0" or "transfer-encoding" in headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if has_body and scope["path"] not in _FORM_PATHS and not _is_json(kind):
        return Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            f"The body is {kind or 'of no stated type'}; it must be application/json.",
            details={"contentType": kind, "allowed": "application/json"},
        )
    return None


def _most_bytes(path: str) -> int:
    return _MAX_FORM_BYTES if path in _FORM_PATHS else MAX_BODY_BYTES


def _has_body(scope: Scope) -> bool:
    return any(name in _BODY_HEADERS for name, _ in scope.get("headers", ()))


def _is_json(kind: str) -> bool:
    return kind in _JSON_TYPES or (kind.startswith("application/") and kind.endswith("+json"))
