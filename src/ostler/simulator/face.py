"""The face convention: how a call of the cloud's API reaches the world.

A *face* is a table of routes; a handler is a plain function of the world and the call, without I/O, so the
same faces serve over HTTP and in process. A handler returns what becomes the JSON body, or raises a Refusal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler.simulator.world import World


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a handler sees it: path parameters, query (each key with all its values), JSON body."""

    account: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: Mapping[str, object] = field(default_factory=dict)

    def first(self, key: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        values = self.query.get(key)
        return values[0] if values else default


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint; `path` is in Starlette's notation (`/gpus/v2/instances/{id}`)."""

    method: str
    path: str
    handler: Callable[["World", Call], object]
