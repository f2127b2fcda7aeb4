"""Tracking: gives every request its ids, a log entry, a duration and, at the very end, an answer.

The outermost ASGI layer of our own. `X-Request-Id` and `X-Correlation-Id` are taken when they are sane,
else made; both are returned, logged and passed on to the cloud. An error that no table knows ends as a 500.
"""

import random
import re
from dataclasses import dataclass

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostler.api.limits import ALLOWANCE
from ostler.api.problems import Problem, problem_response
from ostler.clock import Clock
from ostler.telemetry.metrics import Metrics
from ostler.telemetry.trail import concern

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_SANE_ID = re.compile(r"^[\w.:-]{1,128}$", re.ASCII)
_QUIET = frozenset({"/health", "/health/live", "/health/ready", "/metrics"})
_GUARDS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(slots=True)
class _Outcome:
    status: int = 0
    streams_since: float | None = (
        None  # a stream has answered once it begins; how long it lasts is no slowness
    )


class Tracking:
    """Wraps the application; see the module."""

    def __init__(self, app: ASGIApp, clock: Clock, metrics: Metrics) -> None:
        self._app = app
        self._clock = clock
        self._metrics = metrics
        self._log = log.bind()  # made once: binding costs as much as the rest of an entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, correlation_id = _ids_of(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        outcome = _Outcome()
        ids = ((b"x-request-id", request_id.encode()), (b"x-correlation-id", correlation_id.encode()))

        async def send_tracked(message: Message) -> None:
            if message["type"] == "http.response.start":
                outcome.status = int(message["status"])  # a number, not the name of one
                given = dict(message["headers"])
                guards = (guard for guard in _GUARDS if guard[0] not in given)
                allowance = scope["state"].get(ALLOWANCE, ())
                message["headers"] = [*message["headers"], *ids, *allowance, *guards]
                if given.get(b"content-type", b"").startswith(b"text/event-stream"):
                    outcome.streams_since = self._clock.monotonic()
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id, correlation_id=correlation_id):
            began = self._clock.monotonic()
            try:
                await self._app(scope, receive, send_tracked)
            except Exception:  # the outermost loop of the server: an unknown error becomes a 500
                log.exception("request failed", method=scope["method"], path=scope["path"])
                await self._answer_unknown(outcome, request_id, (scope, receive, send_tracked))
            ended = outcome.streams_since or self._clock.monotonic()
            self._record(scope, outcome.status, ended - began)

    async def _answer_unknown(
        self, outcome: _Outcome, request_id: str, call: tuple[Scope, Receive, Send]
    ) -> None:
        if outcome.status:
            return  # too late to change the answer; the server closes the connection
        problem = Problem(
            500,
            "INTERNAL_ERROR",
            "Ostler failed to answer this request; nothing is known to be wrong with the request.",
            hint=f"the log has the cause under request id {request_id}",
        )
        outcome.status = int(problem.status)
        await problem_response(problem, request_id, self._clock.now())(*call)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self._metrics.record_request(scope["method"], route, status, seconds)
        instance_id = scope.get("path_params", {}).get("instance_id")
        if isinstance(instance_id, str):
            concern(instance_id=instance_id)
        level = self._log.debug if scope["path"] in _QUIET else self._log.info
        level(
            "request",
            method=scope["method"],
            path=scope["path"],
            route=route,
            status=status,
            ms=round(seconds * 1000, 2),
        )


def _ids_of(headers: Headers) -> tuple[str, str]:
    request_id = headers.get("x-request-id", "")
    if not _SANE_ID.match(request_id):
        request_id = f"req_{random.getrandbits(64):016x}"
    correlation_id = headers.get("x-correlation-id", "")
    return request_id, correlation_id if _SANE_ID.match(correlation_id) else request_id
