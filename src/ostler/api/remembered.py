"""Answers remembered: what was answered a moment ago is answered again, as long as nothing of it has changed.

A route that can tell whether its answer still holds leaves an `Again` in the request's state. It is kept
under who asked for what, so that nobody is given what they were not given before, and it is asked for every
time: what is remembered is the rendering, never the truth. Everything else goes on to the routes.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ostler.api.tags import Tags, tags_in

_AGAIN = "again"
_MOST_ANSWERS = 4096
_MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Again:
    """How to answer the same question again: given the tags that its asker knows. It may decline."""

    answer: Callable[[Tags], Response | None]
    size: int  # in bytes, of what it keeps


@dataclass(frozen=True, slots=True)
class _Kept:
    again: Again
    found: dict[str, object]  # of the route, for whoever counts and logs requests


def remember(request: Request, again: Again) -> None:
    """Have a question answered by `again` from now on, as long as it does not decline."""
    setattr(request.state, _AGAIN, again)


class Remembered:
    """The ASGI layer right before the routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()  # least recently used first
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        key = (scope["state"].get("caller"), scope["path"], scope["query_string"])
        answer = self._answer(key, scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)
        again = scope["state"].pop(_AGAIN, None)
        if again is not None:
            self._keep(key, _Kept(again, {name: scope[name] for name in ("route", "path_params")}))

    def _answer(self, key: tuple[object, ...], scope: Scope) -> Response | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        answer = kept.again.answer(_known_tags(scope))
        if answer is None:
            self._forget(key)
            return None
        self._kept.move_to_end(key)
        scope.update(kept.found)
        return answer

    def _keep(self, key: tuple[object, ...], kept: _Kept) -> None:
        self._forget(key)
        self._kept[key] = kept
        self._bytes += kept.again.size
        while len(self._kept) > _MOST_ANSWERS or self._bytes > _MOST_BYTES:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: tuple[object, ...]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= kept.again.size


def _known_tags(scope: Scope) -> Tags:
    return tags_in(value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match")
