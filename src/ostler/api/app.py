"""The application: routes, layers and the translation of every error, put together for one set of backing.

Layers from the outside: tracking (ids, log, 500s), HEAD as GET, the audit log, the doors (keys, limits),
bodies (size, type), what is remembered, FastAPI.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from opentelemetry.trace import TracerProvider
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ostler import __version__
from ostler.api.audited import Audited, Journal
from ostler.api.bodies import Bodies
from ostler.api.document import DESCRIPTION, describe
from ostler.api.doors import Doors, Gate
from ostler.api.error_table import Translation, translations
from ostler.api.framework_errors import refused_by_framework, wrong_input
from ostler.api.heads import Heads
from ostler.api.limits import Limits
from ostler.api.permissions import PERMISSIONS, Permission, Permit
from ostler.api.problems import Problem, RequestRefused, problem_answer
from ostler.api.remembered import Remembered
from ostler.api.tracking import Tracking
from ostler.clock import Clock
from ostler.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Layers:
    """What stands between the network and the routes."""

    gate: Gate
    journal: Journal
    clock: Clock
    metrics: Metrics
    tracer_provider: TracerProvider | None = None
    limits: Limits | None = None  # None: everybody may ask as much as they like
    permissions: Mapping[str, Permission] = field(default_factory=lambda: PERMISSIONS)


def application(routers: Sequence[APIRouter], layers: Layers) -> FastAPI:
    """Return the whole web application."""
    app = FastAPI(
        title="Ostler",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # the dashboard has a page for it that needs nothing from other hosts
        redoc_url=None,
        redirect_slashes=False,  # to wherever the Host header says; a path with one more `/` is another one
        telemetry={
            "tracing": layers.tracer_provider is not None,
            "tracer_provider": layers.tracer_provider,
            "operation_spans": False,
            "metrics": False,
            "logs": False,
        },
    )
    permit = Permit(layers.permissions)
    app.state.own_routes = [permit.before(route) for router in routers for route in router.routes]
    # plain routes: `include_router` would match each request twice more, through every router in turn
    app.router.routes.extend(app.state.own_routes)
    describe(app)
    _tell_errors(app, layers.clock)
    app.add_middleware(Remembered)
    app.add_middleware(Bodies, clock=layers.clock)
    app.add_middleware(
        Doors, gate=layers.gate, clock=layers.clock, journal=layers.journal, limits=layers.limits
    )
    app.add_middleware(Audited, journal=layers.journal, clock=layers.clock)
    app.add_middleware(Heads)
    app.add_middleware(Tracking, clock=layers.clock, metrics=layers.metrics)
    return app


def _tell_errors(app: FastAPI, clock: Clock) -> None:
    table = translations()

    async def tell(request: Request, error: Exception) -> Response:
        problem = _problem_of(request, error, table, clock)
        return problem_answer(problem, request.scope, clock.now())

    for kind in (HTTPException, RequestValidationError, RequestRefused, *table):
        app.add_exception_handler(kind, tell)


def _problem_of(
    request: Request, error: Exception, table: Mapping[type[Exception], Translation], clock: Clock
) -> Problem:
    match error:
        case RequestRefused():
            return error.problem
        case RequestValidationError():
            return wrong_input(error)
        case HTTPException():
            return refused_by_framework(request, error)
        case _:
            translate = next(table[kind] for kind in type(error).__mro__ if kind in table)
            return translate(error, clock.now())
