"""Which endpoint hears of which event: by project and by name. Pure.

An event filter is a name (`instance.ready`), a family of names (`instance.*`) or `*`; an endpoint without
filters hears of everything. An endpoint of a project hears of that project alone.
"""

import hashlib
from collections.abc import Iterable

from ostler.domain.events import PublicEvent
from ostler.store.events import EventRow
from ostler.store.webhook_endpoints import EndpointRow

_EVERYTHING = "*"
FILTERS = frozenset({_EVERYTHING, *PublicEvent, *(f"{name.partition('.')[0]}.*" for name in PublicEvent)})


def hears(endpoint: EndpointRow, event: EventRow) -> bool:
    """Tell whether an endpoint wants an event."""
    if endpoint.project is not None and endpoint.project != event.project:
        return False
    return not endpoint.events or any(matches(pattern, event.name) for pattern in endpoint.events)


def matches(pattern: str, name: str) -> bool:
    """Tell whether a filter means a name."""
    if pattern.endswith(_EVERYTHING):
        return name.startswith(pattern.removesuffix(_EVERYTHING))
    return name == pattern


def unknown_filters(patterns: Iterable[str]) -> list[str]:
    """Return the filters that mean no event at all."""
    return [each for each in patterns if each not in FILTERS]


def implicit_id(url: str) -> str:
    """Return the id of the endpoint that stands for a request's `webhookUrl`: the same for the same URL."""
    return f"wh_{hashlib.blake2b(url.encode(), digest_size=10).hexdigest()}"
