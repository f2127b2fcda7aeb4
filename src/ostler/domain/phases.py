"""Phases: where inside its state an instance is. A *phase* is shown beside the status; it moves no arrow.

Also why an instance stopped, and what its owner wants of it. Only some states have phases.
"""

from collections.abc import Mapping
from enum import StrEnum

from ostler.domain.lifecycle import State
from ostler.domain.upstream import UpstreamState


class CreatingPhase(StrEnum):
    """How far a create has come."""

    QUEUED = "queued"  # accepted, not yet looked at
    CHOOSING = "choosing"  # offers are being compared
    PLACING = "placing"  # an attempt is at the cloud
    ADOPTING = "adopting"  # an answer was lost: what the cloud made of it is looked up
    WAITING_FOR_STOCK = "waiting_for_stock"  # `retryUntilAvailable`: no offer now, tried again later


class StartingPhase(StrEnum):
    """How far a start has come."""

    PROVISIONING = "provisioning"
    PULLING = "pulling"  # billing begins
    BOOTING = "booting"


class TerminatingPhase(StrEnum):
    """What a delete waits for."""

    DELETING = "deleting"
    UNTIL_END_OF_TERM = "until_end_of_term"  # prepaid: it cannot be deleted early, auto-renewal is off


Phase = CreatingPhase | StartingPhase | TerminatingPhase


class StopReason(StrEnum):
    """Why an instance is stopped."""

    USER = "user"
    IDLE = "idle"
    TTL = "ttl"
    BUDGET = "budget"
    SPOT_RECLAIMED = "spot_reclaimed"  # the cloud took the node back
    PLATFORM = "platform"  # anything else that we did not ask for


class Wanted(StrEnum):
    """What the owner wants of an instance, whatever it is doing now."""

    RUNNING = "running"
    STOPPED = "stopped"
    TERMINATED = "terminated"


class PhaseError(Exception):
    """A phase was given to a state that does not have it: a mistake of ours."""

    def __init__(self, state: State, phase: str) -> None:
        super().__init__(f"{state.value!r} has no phase {phase!r}")


_PHASES: Mapping[State, type[CreatingPhase] | type[StartingPhase] | type[TerminatingPhase]] = {
    State.CREATING: CreatingPhase,
    State.STARTING: StartingPhase,
    State.TERMINATING: TerminatingPhase,
}
_SEEN: Mapping[UpstreamState, StartingPhase] = {
    UpstreamState.PROVISIONING: StartingPhase.PROVISIONING,
    UpstreamState.PULLING: StartingPhase.PULLING,
    UpstreamState.BOOTING: StartingPhase.BOOTING,
}


def phase_of(state: State, word: str | None) -> Phase | None:
    """Read a phase of a state from its word."""
    if word is None:
        return None
    kind = _PHASES.get(state)
    if kind is None or word not in {member.value for member in kind}:
        raise PhaseError(state, word)
    return kind(word)


def seen_phase(upstream: UpstreamState) -> StartingPhase | None:
    """Return how far a start has come, by what the cloud shows."""
    return _SEEN.get(upstream)
