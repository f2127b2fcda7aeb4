"""Work to ask for, as data: what a transition wants done at the cloud or at an instance.

The domain never does it; a use case stores it as a job in the transition's own transaction.
"""

from dataclasses import dataclass
from enum import StrEnum


class WorkKind(StrEnum):
    """Everything that a transition may ask for."""

    CREATE = "create"  # choose an offer, place it, adopt what a lost answer left
    START = "start"
    STOP = "stop"
    RESTART = "restart"
    DELETE = "delete"
    MIGRATE = "migrate"
    RECOVER = "recover"  # open a migration of what the cloud took back, as `onReclaim` says
    CHECK_HEALTH = "check_health"
    REFRESH = "refresh"  # one GET, for what a list does not tell
    CLEAR_PREDECESSOR = "clear_predecessor"  # delete what an instance had before it was recreated


@dataclass(frozen=True, slots=True)
class Work:
    """One thing to do about one instance; asking twice is asking once."""

    kind: WorkKind
    instance_id: str
    operation_id: str | None = None  # on whose behalf, for those who follow it in the logs
