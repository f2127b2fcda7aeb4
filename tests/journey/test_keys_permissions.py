"""Every route is tried by everybody: who may is let through, who may not is told why, as the table says."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from fastapi.routing import APIRoute

from ostler.api.permissions import PERMISSIONS, Permission
from ostler.api.sessions import LoginLinks
from ostler.assembly.web import _ROUTES
from ostler.clock import SystemClock
from ostler.dashboard.pages import Entrance, PageFacts, Pages
from ostler.domain.roles import Role
from tests.support.cloud import HandClock
from tests.support.gates import a_porch
from tests.support.home import Home, at_home, until

PROJECT = "blue"
_REFUSALS = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Kin:
    """Somebody who comes: with a key of a role, or with one that is good for nothing."""

    client: httpx2.Client
    role: Role | None = None
    project: str | None = None

    def expected(self, permission: Permission) -> int | None:
        """Return with which status they are refused; None: they are not."""
        if permission.role is None:
            return None
        if self.role is None:
            return 401
        if not self.role.covers(permission.role):
            return 403
        return 403 if permission.is_about_everything and self.project else None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as opened:
        yield opened


@pytest.fixture(scope="module")
def callers(home: Home) -> Iterator[Mapping[str, Kin]]:
    """Give everybody who may come."""
    clients = ExitStack()

    def shows(key: str | None) -> httpx2.Client:
        return clients.enter_context(home.server.client(key))

    found = {
        f"{role} of {project or 'all'}": Kin(shows(a_key(home, role, project)), role, project)
        for role in Role
        for project in (None, PROJECT)
    }
    revoked = home.api.post("/api/keys", json={"name": "revoked", "role": "admin"}).json()
    home.api.delete(f"/api/keys/{revoked['id']}").raise_for_status()
    soon = SystemClock().now() + timedelta(seconds=3)  # long enough for the request to arrive before it
    short = {"name": "expired", "role": "admin", "expiresAt": soon.isoformat()}
    expired = home.api.post("/api/keys", json=short).json()
    path = f"/api/keys/{expired['id']}"
    until(lambda: home.api.get(path).json(), lambda key: key["status"] == "expired")
    with clients:
        yield found | {
            "the administrator": Kin(home.api, Role.ADMIN),
            "nobody": Kin(shows(None)),
            "an impostor": Kin(shows("ostler_made-up")),
            "holder of a revoked key": Kin(shows(revoked["key"])),
            "holder of an expired key": Kin(shows(expired["key"])),
        }


def a_key(home: Home, role: Role, project: str | None) -> str:
    made = home.api.post("/api/keys", json={"name": f"a {role}", "role": role, "project": project})
    assert made.status_code == 201, made.text
    return str(made.json()["key"])


@pytest.mark.parametrize("row", PERMISSIONS)
def test_a_route_is_open_to_those_whom_the_table_names_and_to_nobody_else(
    callers: Mapping[str, Kin], row: str
) -> None:
    method, _, path = row.partition(" ")
    for name, caller in callers.items():
        answer = caller.client.request(method, a_path(path), headers={"Accept": "application/json"})
        expected = caller.expected(PERMISSIONS[row])
        seen = answer.status_code if answer.status_code in _REFUSALS else None
        if path == "/login" and method == "POST":
            assert seen == 401, "there is no key in the form"
        else:
            assert seen == expected, (name, answer.text)
        if expected == 403:
            assert_tells_why(answer, caller, PERMISSIONS[row])


def assert_tells_why(answer: httpx2.Response, caller: Kin, permission: Permission) -> None:
    """The refusal says which role is needed, or that the key is bound to its project."""
    assert caller.role is not None
    assert permission.role is not None
    error = answer.json()["error"]
    assert error["code"] == "FORBIDDEN"
    if caller.role.covers(permission.role):
        assert error["details"]["project"] == PROJECT
    else:
        assert error["details"] == {"role": caller.role, "neededRole": permission.role}
        assert permission.role in error["message"]


def a_path(template: str) -> str:
    """Return a path that leads to a route, with ids that nothing has."""
    return "/".join("9" if part.startswith("{") else part for part in template.split("/"))


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    porch = a_porch(HandClock())
    entrance = Entrance(porch.gate, porch.sessions, LoginLinks(HandClock()))
    facts = PageFacts(is_simulated=True, key_file=Path("x"), is_behind_tls=False, asks_for_key=True)
    routers = [*(module.router for module in _ROUTES), Pages(facts, entrance).router()]
    routes = [route for router in routers for route in router.routes]
    assert all(isinstance(route, APIRoute) for route in routes), "others do not ask the table"
    rows = {
        f"{method} {route.path}"
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert rows == set(PERMISSIONS)
