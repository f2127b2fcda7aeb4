"""The cloud's side of an instance, in our words: an *upstream* and the state it was seen in.

The vendor's own words end in `cloud/`, which maps each of them into one `UpstreamState`. What a state
seen means for an instance of ours is said by `lifecycle.py`; whether the sight may be believed, by
`sightings.py`.
"""

from enum import StrEnum


class UpstreamState(StrEnum):
    """What the cloud says that it is doing with an upstream."""

    PROVISIONING = "provisioning"  # accepted, a node is being found; not billed yet
    PULLING = "pulling"  # the image is being pulled; billing begins
    BOOTING = "booting"  # starting, restarting or being reset; billed
    RUNNING = "running"  # the container runs; billed
    STOPPING = "stopping"  # being stopped; billed until it has
    EXITED = "exited"  # stopped; its disk is billed
    FROZEN = "frozen"  # stopped by the cloud itself, for want of money; its disk is billed
    REMOVING = "removing"  # a delete was accepted; it may still be billed
    REMOVED = "removed"  # the cloud calls it removed and lists it still
    MIGRATING = "migrating"  # moving to another node; billed
    UNKNOWN = "unknown"  # a word that we do not know: it moves nothing and is shown as it came


STARTING_UP = frozenset({UpstreamState.PROVISIONING, UpstreamState.PULLING, UpstreamState.BOOTING})
STOPPED = frozenset({UpstreamState.EXITED, UpstreamState.FROZEN})
REMOVAL = frozenset({UpstreamState.REMOVING, UpstreamState.REMOVED})
