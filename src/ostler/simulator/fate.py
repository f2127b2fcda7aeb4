"""A *fate*: something that will go wrong inside the cloud for the next instances, asked for by a test.

Unlike a fault, which spoils one HTTP answer, a fate is a property of the world: an image that is never
pulled, a migration that does not end, a container that dies with a `statusError`.
"""

from dataclasses import dataclass
from enum import StrEnum

from ostler.simulator.status import LEADS_TO, Status, passed_from


class Outcome(StrEnum):
    """What happens when the status is reached."""

    FAIL = "fail"  # the instance ends in `exited` with a status error; it holds and costs no GPU
    STUCK = "stuck"  # the status is never left by itself; if it is billed, it goes on being billed
    SLOW = "slow"  # the status lasts `seconds`


# What a fate can follow on, and the status in which that begins.
VERBS: dict[str, Status] = {"create": Status.PENDING} | {
    verb.value: status for verb, status in LEADS_TO.items()
}


def stations(verb: str) -> tuple[Status, ...]:
    """Return the statuses in which a fate can befall an instance after a verb; the last is the usual one."""
    return passed_from(VERBS[verb])


@dataclass(frozen=True, slots=True)
class Fate:
    """What befalls an instance on reaching a status."""

    at: Status
    outcome: Outcome
    seconds: float = 0.0
    state: str = "IMAGE_PULL_FAILED"
    message: str = "failed to pull image"
