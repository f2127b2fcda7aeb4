"""The pages as routes: the live status page, the way in (key or one-time link) and the way out.

The status page is filled by static/status.js from the HTTP API. Under its content policy nothing
runs or loads but our own files.
"""

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from ostler import __version__
from ostler.api.audited import MEANS
from ostler.api.caller import caller_of
from ostler.api.doors import Gate
from ostler.api.limits import Limits
from ostler.api.sessions import COOKIE, LoginLinks, session_token
from ostler.domain.keys import Holder
from ostler.store.audit_log import Means
from ostler.usecases.key_book import ADMINISTRATOR
from ostler.usecases.signing_in import SESSION_LIFE, Sessions

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # Swagger UI sets style attributes
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the pages need to know of this installation."""

    is_simulated: bool
    key_file: Path | None  # where the key was put, when it was made here
    is_behind_tls: bool
    asks_for_key: bool


@dataclass(frozen=True, slots=True)
class Entrance:
    """What lets a browser in."""

    gate: Gate
    sessions: Sessions
    links: LoginLinks
    limits: Limits | None = None  # of how many wrong keys may be tried


def static_files() -> StaticFiles:
    """Return the application that serves the pages' scripts, styles and pictures."""
    return StaticFiles(directory=Path(__file__).parent / "static")


class Pages:
    """The handlers of the pages."""

    def __init__(self, facts: PageFacts, entrance: Entrance) -> None:
        self._facts = facts
        self._entrance = entrance
        self._templates = Environment(
            loader=PackageLoader("ostler.dashboard"), autoescape=select_autoescape()
        )

    def router(self) -> APIRouter:
        """Return the routes of the pages; they are for people and stand outside the API's document."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route("/", self.status, methods=["GET"])
        router.add_api_route("/docs", self.docs, methods=["GET"])
        router.add_api_route("/login", self.way_in, methods=["GET"])
        router.add_api_route("/login", self.sign_in, methods=["POST"], status_code=HTTPStatus.SEE_OTHER)
        router.add_api_route("/logout", self.sign_out, methods=["POST"], status_code=HTTPStatus.SEE_OTHER)
        router.add_api_route("/favicon.ico", self.icon, methods=["GET"])
        return router

    async def status(self, request: Request) -> Response:
        """Show what is true now: health, prices, templates, how to begin."""
        return self._page(
            "status.html",
            simulated=self._facts.is_simulated,
            key_file=self._facts.key_file,
            origin=str(request.base_url).rstrip("/"),
            version=__version__,
            caller=request.state.caller,
            can_sign_out=self._facts.asks_for_key,
        )

    async def docs(self) -> Response:
        """Show the API's document, ready to be tried out."""
        return self._page("docs.html")

    async def way_in(self, request: Request, token: str | None = None) -> Response:
        """Let in who comes by an unused link; ask everybody else for the key."""
        if token is not None and self._entrance.links.redeem(token):
            return await self._let_in(request, ADMINISTRATOR, Means.LINK)
        if token:
            return self._turned_away(request, "This link was used already or is too old. Sign in with a key.")
        is_refusal = getattr(request.state, "turned_away", False)
        return self._page("login.html", HTTPStatus.UNAUTHORIZED if is_refusal else HTTPStatus.OK)

    async def sign_in(self, request: Request) -> Response:
        """Let in who holds a key; a form must be our own, so that nobody is signed in as another.

        A browser says of every form where it began; who says nothing is none, and has the key.
        """
        gate = self._entrance.gate
        if not gate.began_here(request.headers, absent_is_fine=True):
            wrong = "Sign in on this page itself: the form was sent from elsewhere."
            return self._page("login.html", HTTPStatus.FORBIDDEN, wrong=wrong)
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        holder = await gate.holder_of(fields.get("key", [""])[0])
        if holder is not None:
            return await self._let_in(request, holder, Means.KEY)
        return self._turned_away(request, "This key is not valid.")

    async def sign_out(self, request: Request) -> Response:
        """End the session, here and in every copy of its cookie."""
        await self._entrance.sessions.close(session_token(request.headers))
        answer = RedirectResponse("/login", status_code=HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE)
        return answer

    async def icon(self) -> Response:
        """Point browsers that guess at the icon that there is."""
        return RedirectResponse("/static/ostler.svg", status_code=HTTPStatus.PERMANENT_REDIRECT)

    def _turned_away(self, request: Request, wrong: str) -> Response:
        """Say what was wrong with a key or link; who tries too many of them is told to wait."""
        limits = self._entrance.limits
        problem = None if limits is None else limits.of_wrong_key(request.scope)
        if problem is None:
            return self._page("login.html", HTTPStatus.UNAUTHORIZED, wrong=wrong)
        page = self._page("login.html", HTTPStatus(problem.status), wrong=problem.message)
        page.headers.update(problem.headers)
        return page

    def _page(self, name: str, status: int = HTTPStatus.OK, **values: object) -> Response:
        html = self._templates.get_template(name).render(values)
        return HTMLResponse(html, status_code=status, headers=_HEADERS)

    async def _let_in(self, request: Request, holder: Holder, means: Means) -> Response:
        request.state.caller = caller_of(holder)
        setattr(request.state, MEANS, means)
        token = await self._entrance.sessions.open(holder, session_token(request.headers))
        answer = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            COOKIE,
            token,
            max_age=int(SESSION_LIFE.total_seconds()),
            httponly=True,
            samesite="lax",  # a one-time link may be opened from a chat, where `strict` would lose the cookie
            secure=self._facts.is_behind_tls,
        )
        return answer
