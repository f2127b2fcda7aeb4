"""How our word and the cloud's word about one instance stand to each other, and which of them is shown.

*consistent*: what the cloud last showed fits our state, or there is nothing of it at the cloud.
*local-newer*: they differ, and something was asked of the instance that the look is too old to show; the
cloud is given 15 seconds for it. *novita-newer*: they differ, and the look is newer than anything asked:
the cloud's word is shown. *conflicted*: one says that it exists and the other that it does not, or the cloud
has two of it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ostler.domain.lifecycle import State, adopted_state
from ostler.domain.sightings import NOT_YET_WINDOW
from ostler.domain.upstream import REMOVAL, STARTING_UP, STOPPED, UpstreamState


class Source(StrEnum):
    """Where what is shown of an instance comes from."""

    LOCAL = "local"  # our row alone: nothing of it is at the cloud
    NOVITA = "novita"  # the cloud alone: no row has it
    MERGED = "merged"


class Consistency(StrEnum):
    """How the two words stand to each other."""

    CONSISTENT = "consistent"
    LOCAL_NEWER = "local-newer"
    NOVITA_NEWER = "novita-newer"
    CONFLICTED = "conflicted"


@dataclass(frozen=True, slots=True)
class OurWord:
    """What our row says."""

    state: State
    asked_at: datetime | None = None  # when the last thing that may still be on its way was asked


@dataclass(frozen=True, slots=True)
class CloudsWord:
    """What the cloud last said of the row's upstream."""

    state: UpstreamState
    seen_at: datetime | None = None  # when it was last confirmed
    is_missing: bool = False  # from the last whole picture of the account
    has_rivals: bool = False  # other upstreams carry the mark of the same instance


_SERVING = frozenset({UpstreamState.RUNNING})
_ANY = frozenset(UpstreamState)
_FITTING: Mapping[State, Set[UpstreamState]] = {
    State.CREATING: STARTING_UP,
    State.STARTING: STARTING_UP,
    State.RUNNING: _SERVING,
    State.HEALTH_CHECKING: _SERVING,
    State.READY: _SERVING,
    State.STOPPING: frozenset({UpstreamState.STOPPING}),
    State.EXITED: STOPPED,
    State.MIGRATING: STARTING_UP | {UpstreamState.MIGRATING},
    State.FAILED: _ANY - REMOVAL,  # a judgement of ours, on which the cloud has no word
    State.TERMINATING: REMOVAL,
    State.TERMINATED: frozenset({UpstreamState.REMOVED}),
}
_ENDING = frozenset({State.TERMINATING, State.TERMINATED})


def fits(state: State, upstream: UpstreamState) -> bool:
    """Tell whether the cloud's word says nothing against ours; a word that we do not know never does."""
    return upstream is UpstreamState.UNKNOWN or upstream in _FITTING[state]


def consistency(ours: OurWord, clouds: CloudsWord | None) -> Consistency:
    """Say how the two words stand to each other; None: the cloud has said nothing yet."""
    if clouds is None:
        return Consistency.CONSISTENT
    if clouds.has_rivals:
        return Consistency.CONFLICTED
    if clouds.is_missing:
        return Consistency.CONSISTENT if ours.state in _ENDING else Consistency.CONFLICTED
    if fits(ours.state, clouds.state):
        return Consistency.CONSISTENT
    if ours.asked_at is None:
        return Consistency.NOVITA_NEWER
    is_too_old = clouds.seen_at is None or clouds.seen_at < ours.asked_at + NOT_YET_WINDOW
    return Consistency.LOCAL_NEWER if is_too_old else Consistency.NOVITA_NEWER


def shown_state(ours: OurWord, clouds: CloudsWord | None) -> State:
    """Return the state to show: the cloud's word where it is news, else ours, which tells more."""
    if clouds is None or consistency(ours, clouds) is not Consistency.NOVITA_NEWER:
        return ours.state
    return adopted_state(clouds.state)
