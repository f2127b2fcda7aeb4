"""The HTTP face of the pretend cloud: an ASGI app that turns requests into exchanges and outcomes into bytes.

It decides nothing. `/_sim/` is `controls.py`; every other path is the cloud's API. Works under uvicorn (see
`running.py`) and in process under `httpx2.ASGITransport`.
"""

from collections.abc import Callable, Coroutine
from email.utils import formatdate

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ostler.simulator.cloud import Cloud
from ostler.simulator.connection import hang_up, stay_silent
from ostler.simulator.control import Control, perform_control
from ostler.simulator.controls import CONTROLS
from ostler.simulator.exchange import Hangup, Outcome, Reply, Request, Silence, refusal_reply
from ostler.simulator.refusal import Refusal

CONTROLS_PATH = "/_sim"


def create_app(cloud: Cloud) -> Starlette:
    """Return the app that serves a cloud and its controls."""
    controls = [
        Route(control.path, _control_endpoint(cloud, control), methods=[control.method])
        for control in CONTROLS
    ]
    return Starlette(
        routes=[
            Route(CONTROLS_PATH, RedirectResponse(f"{CONTROLS_PATH}/"), methods=["GET"]),
            Mount(CONTROLS_PATH, routes=controls),
            Mount("/", app=_api(cloud)),
        ],
        exception_handlers={HTTPException: _no_control, Exception: _broken},
    )


def _api(cloud: Cloud) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await read_request(HttpRequest(scope, receive))
        except ClientDisconnect:
            return
        await play(await cloud.answer(request), scope, receive, send)

    return app


def _control_endpoint(
    cloud: Cloud, control: Control
) -> Callable[[HttpRequest], Coroutine[None, None, Response]]:
    async def endpoint(http: HttpRequest) -> Response:
        return _response(perform_control(cloud, control, await read_request(http), http.path_params))

    return endpoint


def _no_control(http: HttpRequest, _: Exception) -> Response:
    known = ", ".join(f"{each.method} {CONTROLS_PATH}{each.path}" for each in CONTROLS)
    message = f"{http.method} {http.scope['path']}: no such control; there are {known}"
    return _response(refusal_reply(Refusal(404, "API_NOT_FOUND", message)))


def _broken(_: HttpRequest, __: Exception) -> Response:
    response = _response(refusal_reply(Refusal(500, reason="UNKNOWN", message="unknown error")))
    response.headers["Connection"] = "close"  # the error goes on to uvicorn, which logs it and hangs up
    return response


async def read_request(http: HttpRequest) -> Request:
    """Return what a client sent."""
    query: dict[str, tuple[str, ...]] = {}
    for key, value in http.query_params.multi_items():
        query[key] = (*query.get(key, ()), value)
    return Request(http.method, http.scope["path"], query, dict(http.headers), await http.body())


async def play(outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> None:
    """Let a client see an outcome: an answer, a reset, or nothing."""
    match outcome:
        case Reply():
            await _response(outcome)(scope, receive, send)
        case Hangup():
            await hang_up(scope, receive)
        case Silence():
            await stay_silent(receive)


def _response(reply: Reply) -> Response:
    headers = {
        "Date": formatdate(usegmt=True),
        **dict(reply.headers),
    }  # real time: a client compares it with its own
    return Response(reply.body, reply.status, headers=headers, media_type=reply.content_type or None)
