"""The doors: who may pass. Deny by default; only the routes that the table of permissions opens are open.

A program shows `Authorization: Bearer <key>`; a browser shows its session cookie, and for a change also that
the request began on our own pages. With authentication off (loopback only) the Host and Origin are checked,
so that no web page of another site can speak to Ostler through the user's browser. A read that lasts (a
stream, a wait) ends with the key that it was begun with.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostler.api.audited import MEANS, SAFE_METHODS, Journal
from ostler.api.caller import ANONYMOUS, Caller, caller_of
from ostler.api.limits import Limits
from ostler.api.permissions import is_open
from ostler.api.problems import Problem, problem_answer
from ostler.api.sessions import session_token
from ostler.clock import Clock
from ostler.domain.keys import Holder, digest_of
from ostler.store.audit_log import Means
from ostler.store.database import StoreUnavailable
from ostler.usecases.key_book import KeyBook, Pass
from ostler.usecases.signing_in import Sessions

_WRONG_KEY = "The key in the Authorization header is not valid."
_LOOPBACK_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Admission:
    """Who is let in, and by what; `shown` None: by nothing, which does not end."""

    caller: Caller
    shown: Pass | None
    means: Means


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """Why somebody is not let in; `has_shown`: they came with a key or session that is good for nothing."""

    problem: Problem
    has_shown: bool = False
    known: Admission | None = None  # who it is nevertheless


class Gate:
    """Decides from the headers who is calling. `public_url` is how browsers reach us, when behind a proxy."""

    def __init__(
        self, book: KeyBook, sessions: Sessions, *, asks_for_key: bool, public_url: str | None
    ) -> None:
        self.book = book
        self._sessions = sessions
        self._asks_for_key = asks_for_key
        self._public_origin = None if public_url is None else _origin(public_url)

    async def admit(self, method: str, headers: Headers) -> Admission | TurnedAway:
        """Return who is let in, or why nobody is."""
        if not self._asks_for_key:
            return self._loopback_caller(headers)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme:
            shown = await self._by_key(key) if scheme.lower() == "bearer" else None
            if shown is None:
                return TurnedAway(_unauthenticated(_WRONG_KEY), has_shown=True)
            return Admission(caller_of(shown.holder), shown, Means.KEY)
        token = session_token(headers)
        shown = await self._sessions.behind(token)
        if shown is None:
            return TurnedAway(_unauthenticated("This request carries no key."), has_shown=bool(token))
        admission = Admission(caller_of(shown.holder), shown, Means.SESSION)
        if method not in SAFE_METHODS and not self.began_here(headers):
            return _forbidden("A change by session must come from Ostler's own pages.", admission)
        return admission

    async def holder_of(self, key: str) -> Holder | None:
        """Return who holds a key, if it is good."""
        shown = await self._by_key(key)
        return None if shown is None else shown.holder

    def began_here(self, headers: Headers, *, absent_is_fine: bool = False) -> bool:
        """Tell whether a browser's request began on our own pages."""
        site = headers.get("sec-fetch-site")
        if site is not None:  # the browser's own word, which no page can change
            return site in {"same-origin", "none"}
        origin = headers.get("origin")
        if origin is None:
            return absent_is_fine
        if self._public_origin is not None:
            return _origin(origin) == self._public_origin
        authority = origin.partition("://")[2]
        return bool(authority) and authority == headers.get("host")

    async def _by_key(self, key: str) -> Pass | None:
        token = key.strip()
        return await self.book.by_key(digest_of(token)) if token else None

    def _loopback_caller(self, headers: Headers) -> Admission | TurnedAway:
        if not _LOOPBACK_HOST.fullmatch(headers.get("host", "")):
            return _forbidden("Without keys, Ostler answers to loopback names only.")
        if not self.began_here(headers, absent_is_fine=True):
            return _forbidden("Requests from pages of other sites are refused.")
        return Admission(ANONYMOUS, None, Means.OPEN)


class Doors:
    """The ASGI layer that asks the gate before anything else sees the request."""

    def __init__(
        self, app: ASGIApp, gate: Gate, clock: Clock, journal: Journal, limits: Limits | None
    ) -> None:
        self._app = app
        self._gate = gate
        self._clock = clock
        self._journal = journal
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        found = await self._asked(scope)
        if isinstance(found, TurnedAway):
            problem = self._counted(found, scope)
            if found.has_shown:
                await self._journal.note_wrong_key(scope, problem)
            if found.known is not None:
                _introduce(found.known, scope)
            await self._turn_away(problem, (scope, receive, send))
            return
        _introduce(found, scope)
        one_too_many = self._one_too_many(found, scope)
        if one_too_many is not None:
            await self._turn_away(one_too_many, (scope, receive, send))
        elif found.shown is not None and scope["method"] in SAFE_METHODS:
            await self._while_good(found.shown, (scope, receive, send))
        else:
            await self._app(scope, receive, send)

    def _counted(self, found: TurnedAway, scope: Scope) -> Problem:
        """Return what to answer to somebody who is turned away, maybe for the hundredth time."""
        if self._limits is None or not found.has_shown:
            return found.problem
        return self._limits.of_wrong_key(scope) or found.problem

    def _one_too_many(self, found: Admission, scope: Scope) -> Problem | None:
        if self._limits is None:
            return None
        if found.shown is None:
            return self._limits.of_address(scope)
        return self._limits.of_key(found.caller.key_id, scope)

    async def _asked(self, scope: Scope) -> Admission | TurnedAway:
        try:
            return await self._gate.admit(scope["method"], Headers(scope=scope))
        except StoreUnavailable:
            message = "The database does not answer, so the key cannot be checked."
            headers = {"Retry-After": "5"}
            problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", message, headers=headers)
            return TurnedAway(problem)

    async def _while_good(self, shown: Pass, call: tuple[Scope, Receive, Send]) -> None:
        scope, receive, send = call
        has_begun = has_ended = False

        async def send_noted(message: Message) -> None:
            nonlocal has_begun, has_ended
            has_begun = True
            has_ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        with self._gate.book.holding(shown) as fence:
            try:
                async with fence:
                    await self._app(scope, receive, send_noted)
            except TimeoutError:
                if not fence.expired():
                    raise
            if has_ended or not fence.expired():
                return
            if has_begun:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await self._turn_away(_unauthenticated("The key was revoked or has expired."), call)

    async def _turn_away(self, problem: Problem, call: tuple[Scope, Receive, Send]) -> None:
        scope, receive, send = call
        if scope["path"] == "/" and problem.status == HTTPStatus.UNAUTHORIZED:
            scope["path"] = "/login"  # a person: show the way in, under the status that says so
            scope["state"]["turned_away"] = True
            await self._app(scope, receive, send)
            return
        await problem_answer(problem, scope, self._clock.now())(scope, receive, send)


def _introduce(found: Admission, scope: Scope) -> None:
    """Tell every layer behind the doors who is there."""
    scope["state"]["caller"] = found.caller
    scope["state"][MEANS] = found.means


def _forbidden(message: str, known: Admission | None = None) -> TurnedAway:
    return TurnedAway(Problem(HTTPStatus.FORBIDDEN, "FORBIDDEN", message), known=known)


def _unauthenticated(message: str) -> Problem:
    return Problem(
        HTTPStatus.UNAUTHORIZED,
        "AUTHENTICATION_ERROR",
        message,
        hint="send `Authorization: Bearer <key>`; the administrator's is in admin.key in the data directory",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
