"""A *request* to the cloud before it is sent, and the *reply* that came: values, without policy.

The kind decides what may be repeated; the lane decides when it is sent. Bodies and secrets stay out of the
repr, so that neither a log nor a traceback shows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ostler.cloud.lane import Lane


class Kind(StrEnum):
    """What a request does; each kind has its own circuit breaker."""

    READ = "read"  # changes nothing: may always be repeated
    CREATE = "create"  # makes a billed thing, anew each time it is executed
    WRITE = "write"  # changes something that exists


@dataclass(frozen=True, slots=True)
class Request:
    """One operation of the cloud's API."""

    operation: str
    kind: Kind
    lane: Lane
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Mapping[str, object] | None = field(default=None, repr=False)
    is_urgent: bool = False  # may probe an open breaker before its time
    not_after: datetime | None = None  # not sent any more after this

    @property
    def is_command(self) -> bool:
        """Tell whether it changes something, or must be known before anything is changed."""
        return self.is_urgent or self.kind is not Kind.READ


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer below 500 that is no 429: the cloud has decided. `began_at` dates the request."""

    status: int
    body: bytes = field(repr=False)
    began_at: datetime
