"""Finding the handler of a path: plain paths by look-up, those with parameters by trying their patterns.

The *key* of a route, `POST /gpu-instance/openapi/v1/gpu/instance/create`, is how faults and counts name it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.routing import compile_path

from ostler.simulator.face import Route

if TYPE_CHECKING:
    import re


@dataclass(frozen=True, slots=True)
class Match:
    """A route, and what the path says for its parameters."""

    route: Route
    parameters: dict[str, str]

    @property
    def key(self) -> str:
        """The name of the route in faults and counts."""
        return f"{self.route.method} {self.route.path}"


class RouteTable:
    """All routes of all faces."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[tuple[str, str], Route] = {}
        self._patterns: list[tuple[str, re.Pattern[str], Route]] = []
        for route in routes:
            if "{" in route.path:
                pattern, _, _ = compile_path(route.path)
                self._patterns.append((route.method, pattern, route))
            else:
                self._plain[route.method, route.path] = route

    def find(self, method: str, path: str) -> Match | None:
        """Return the route of a call, if there is one."""
        route = self._plain.get((method, path))
        if route is not None:
            return Match(route, {})
        for wanted, pattern, candidate in self._patterns:
            found = pattern.match(path) if wanted == method else None
            if found is not None:
                return Match(candidate, found.groupdict())
        return None
