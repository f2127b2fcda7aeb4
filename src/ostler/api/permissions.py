"""The table of permissions: who may do what, one row for every route. What has no row is refused.

A *role* may all that the roles before it may. A route *about everything* tells or does something beyond
projects, so that keys of one project are refused; all others show and touch what is of the key's project
alone. The table in docs/security.md is drawn from this one.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from http import HTTPStatus

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from ostler.api.caller import Caller
from ostler.api.problems import Problem, RequestRefused
from ostler.domain.errors import NotAllowed, OutsideProject
from ostler.domain.roles import Role

_OPEN_FOLDERS = ("/static/",)


@dataclass(frozen=True, slots=True)
class Permission:
    """Who may use a route. `role` None: everybody, without a key."""

    role: Role | None
    is_about_everything: bool = False


ANYBODY = Permission(None)
VIEWER = Permission(Role.VIEWER)
OPERATOR = Permission(Role.OPERATOR)
ADMIN = Permission(Role.ADMIN)
VIEWER_OF_ALL = Permission(Role.VIEWER, is_about_everything=True)
ADMIN_OF_ALL = Permission(Role.ADMIN, is_about_everything=True)

PERMISSIONS: Mapping[str, Permission] = {
    "GET /health": ANYBODY,
    "GET /health/live": ANYBODY,
    "GET /health/ready": ANYBODY,
    "GET /login": ANYBODY,
    "POST /login": ANYBODY,
    "GET /favicon.ico": ANYBODY,
    # looking
    "GET /": VIEWER,
    "GET /docs": VIEWER,
    "POST /logout": VIEWER,
    "GET /api/products": VIEWER,
    "GET /api/offers": VIEWER,
    "GET /api/regions": VIEWER,
    "GET /api/templates": VIEWER,
    "GET /api/templates/{template_id}": VIEWER,
    "GET /api/instances": VIEWER,
    "GET /api/instances/comprehensive": VIEWER,
    "GET /api/instances/auto-stop/stats": VIEWER,
    "GET /api/instances/by-name/{name}": VIEWER,
    "GET /api/instances/{instance_id}": VIEWER,
    "GET /api/instances/{instance_id}/events": VIEWER,
    "GET /api/instances/{instance_id}/attempts": VIEWER,
    "GET /api/instances/{instance_id}/operations": VIEWER,
    "GET /api/instances/{instance_id}/cost": VIEWER,
    "GET /api/instances/{instance_id}/metrics": VIEWER,
    "GET /api/instances/{instance_id}/logs": VIEWER,
    "GET /api/operations/{operation_id}": VIEWER,
    "GET /api/events": VIEWER,
    "GET /api/jobs": VIEWER,
    "GET /api/jobs/stats": VIEWER,
    "GET /api/jobs/{job_id}": VIEWER,
    "GET /api/webhooks/deliveries": VIEWER,
    "GET /api/webhooks/deliveries/{delivery_id}": VIEWER,
    # changing instances, and what holds secrets
    "POST /api/instances": OPERATOR,
    "POST /api/instances/start": OPERATOR,
    "POST /api/instances/stop": OPERATOR,
    "POST /api/instances/delete": OPERATOR,
    "POST /api/instances/sync": OPERATOR,
    "POST /api/instances/auto-stop/trigger": OPERATOR,
    "POST /api/instances/{instance_id}/start": OPERATOR,
    "POST /api/instances/{instance_id}/stop": OPERATOR,
    "POST /api/instances/{instance_id}/restart": OPERATOR,
    "POST /api/instances/{instance_id}/migrate": OPERATOR,
    "DELETE /api/instances/{instance_id}": OPERATOR,
    "PATCH /api/instances/{instance_id}": OPERATOR,
    "PUT /api/instances/{instance_id}/last-used": OPERATOR,
    "GET /api/instances/{instance_id}/credentials": OPERATOR,
    "POST /api/jobs/{job_id}/cancel": OPERATOR,
    "POST /api/jobs/{job_id}/retry": OPERATOR,
    "GET /api/webhooks": OPERATOR,  # addresses often hold a secret
    "POST /api/webhooks": OPERATOR,
    "GET /api/webhooks/{endpoint_id}": OPERATOR,
    "DELETE /api/webhooks/{endpoint_id}": OPERATOR,
    "POST /api/webhooks/{endpoint_id}/test": OPERATOR,
    "POST /api/webhooks/deliveries/{delivery_id}/replay": OPERATOR,
    # deciding who may come in, and what hits many at once
    "GET /api/audit": ADMIN,
    "GET /api/keys": ADMIN,
    "POST /api/keys": ADMIN,
    "GET /api/keys/{key_id}": ADMIN,
    "DELETE /api/keys/{key_id}": ADMIN,
    "POST /api/instances/stop-all": ADMIN,
    # the account and the installation as a whole
    "GET /metrics": VIEWER_OF_ALL,
    "GET /api/metrics": VIEWER_OF_ALL,
    "GET /api/orphans": VIEWER_OF_ALL,
    "GET /api/account/trust": VIEWER_OF_ALL,
    "GET /api/cache/stats": VIEWER_OF_ALL,
    "GET /api/cache/{name}/stats": VIEWER_OF_ALL,
    "GET /api/webhooks/secret": ADMIN_OF_ALL,
    "POST /api/orphans/{novita_id}/adopt": ADMIN_OF_ALL,
    "POST /api/orphans/{novita_id}/delete": ADMIN_OF_ALL,
    "POST /api/account/confirm": ADMIN_OF_ALL,
    "POST /api/cache/clear": ADMIN_OF_ALL,
    "POST /api/cache/cleanup": ADMIN_OF_ALL,
    "DELETE /api/cache": ADMIN_OF_ALL,
    "DELETE /api/cache/{name}": ADMIN_OF_ALL,
    "DELETE /api/cache/{name}/{key:path}": ADMIN_OF_ALL,
}


class Permit:
    """Stands before every route, and before anything of its body or query is judged."""

    def __init__(self, table: Mapping[str, Permission]) -> None:
        self._table = table

    def before(self, route: BaseRoute) -> BaseRoute:
        """Return the same route behind a check of who may use it.

        It is a part of the route itself: dependencies of an application or router depend on how routes are
        put into it, and fall away unseen.
        """
        if not isinstance(route, APIRoute):
            message = f"{route!r} cannot be checked: it has no method and path"
            raise TypeError(message)
        guarded = copy(route)  # the module that has the route may give it to another application, too

        async def ask_first(scope: Scope, receive: Receive, send: Send) -> None:
            self._judge(f"{scope['method']} {route.path}", scope["state"].get("caller"))
            await route.app(scope, receive, send)

        guarded.app = ask_first
        return guarded

    def _judge(self, row: str, caller: object) -> None:
        permission = self._table.get(row)
        if permission is None:
            message = "Nobody may use this route: the table of permissions has no row for it."
            raise RequestRefused(Problem(HTTPStatus.FORBIDDEN, "FORBIDDEN", message))
        if permission.role is None:
            return
        assert isinstance(caller, Caller), "the doors let nobody in without a name"
        if not caller.role.covers(permission.role):
            raise NotAllowed(caller.role, permission.role)
        if permission.is_about_everything and caller.project is not None:
            raise OutsideProject(None, caller.project)


def is_open(path: str) -> bool:
    """Tell whether everybody may come as far as this path, without a key."""
    return path in _OPEN or path.startswith(_OPEN_FOLDERS)


_OPEN = frozenset(row.partition(" ")[2] for row, permission in PERMISSIONS.items() if permission.role is None)
