"""The life of an instance: its states, and the one table of arrows between them.

`advance` is the only function that says where a state goes; a missing arrow is an error that names both
ends. Conditions that need more than the state (is there an upstream? was it usable before?) are judged by
`intents.py` and `outcomes.py` before they ask. The diagram in ARCHITECTURE.md is drawn from the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ostler.domain.events import PublicEvent
from ostler.domain.upstream import REMOVAL, UpstreamState


class State(StrEnum):
    """Where an instance is in its life. "Costs" says whether the cloud bills it meanwhile."""

    # Entered by an accepted request; left when an attempt was placed, when none can be, or by a delete.
    # Lasts seconds; with `retryUntilAvailable` until `giveUpAfterSeconds`. Costs nothing that we know of:
    # a create whose answer was lost is looked up, and priced from the cloud's own instants once found.
    CREATING = "creating"
    # Entered by placement, start and restart; left when the cloud says running or exited, by the startup
    # deadline, a stop or a delete. Lasts up to the startup timeout, three times that while an image is
    # pulled. Costs from the phase `pulling` on.
    STARTING = "starting"
    # Entered when the cloud says running and the connection details are known; left by whatever stops,
    # restarts, migrates or deletes it, and by a health check that is wanted. May last for ever. Costs.
    RUNNING = "running"
    # Entered from `running` when a check is wanted, from `ready` after three failed probes; left when all
    # endpoints are healthy, or by the deadline before this start's first success. Costs.
    HEALTH_CHECKING = "health_checking"
    # Entered when every endpoint answered; left by three failed probes in a row, else as `running`. May
    # last for ever. Costs.
    READY = "ready"
    # Entered by a stop, ours or seen; left when the cloud says exited, or by a delete. Lasts seconds, but
    # as long as the cloud takes. Costs until the cloud has stopped it.
    STOPPING = "stopping"
    # Entered when the cloud says exited, and when a start or a migration came to nothing; left by start,
    # migrate, delete, or when it is seen running. May last until the cloud drops its disk. Costs its disk.
    EXITED = "exited"
    # Entered by a migration, ours or seen, and by a start of what was reclaimed; left when the cloud says
    # running or exited, or by its failure. Lasts minutes. Costs.
    MIGRATING = "migrating"
    # Entered by a create that was refused, or by a start that came to nothing in time; left by its owner
    # (stop, start, restart, delete), or when it answers after all. May last for ever. Costs if it has an
    # upstream: `error.stillBilled` says so.
    FAILED = "failed"
    # Entered by a delete, ours or seen, and when a dead one is seen again; left only when the cloud says
    # gone. Lasts seconds, a prepaid one until the end of its term; never given up. Costs until it is gone.
    TERMINATING = "terminating"
    # Entered only when nothing of it is left at the cloud; left only if it is seen again. A tombstone, for
    # ever. Costs nothing.
    TERMINATED = "terminated"


class Event(StrEnum):
    """What may move a state: something asked, something seen, or a deadline."""

    PLACED = "placed"  # the cloud made the upstream, or it was found after a lost answer
    NOT_PLACED = "not placed"  # refused, or no candidate left; nothing of it is at the cloud
    START = "start"
    START_GAVE_UP = "start gave up"  # no capacity within the operation's time
    STOP = "stop"
    RESTART = "restart"
    MIGRATE = "migrate"
    MIGRATION_FAILED = "migration failed"
    DELETE = "delete"
    DELETE_UNPLACED = "delete without upstream"  # every attempt has ended, none with an upstream
    STARTUP_DEADLINE = "startup deadline"
    STARTUP_FAILED = "startup failed"  # the cloud itself says that the start has failed
    CHECK_WANTED = "check wanted"
    HEALTHY = "all healthy"
    HEALTH_DEADLINE = "health deadline"  # before the first success of this start
    PROBES_FAILED = "three failed probes"
    SEEN_RUNNING = "seen running"
    SEEN_STOPPING = "seen stopping"
    SEEN_EXITED = "seen exited"
    SEEN_MIGRATING = "seen migrating"
    SEEN_REMOVING = "seen removing"
    GONE = "gone"  # the cloud's word, by the rules of `sightings.py`
    SEEN_AGAIN = "seen again"  # a tombstone's upstream is listed: it is billed


@dataclass(frozen=True, slots=True)
class Transition:
    """One arrow: where it starts, what it is for, where it ends, and what is said about it."""

    source: State
    event: Event
    target: State
    emits: tuple[PublicEvent, ...]
    may_emit: tuple[PublicEvent, ...] = ()  # once per start
    is_alarm: bool = False


class NoArrowError(Exception):
    """An event was asked of a state that has no arrow for it: a mistake of ours, never of a caller."""

    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"no arrow leaves {state.value!r} by {event.value!r}")
        self.state = state
        self.event = event


_LOST = {Event.SEEN_REMOVING: State.TERMINATING, Event.GONE: State.TERMINATED}
_IN_SERVICE = {
    Event.STOP: State.STOPPING,
    Event.RESTART: State.STARTING,
    Event.MIGRATE: State.MIGRATING,
    Event.DELETE: State.TERMINATING,
    Event.SEEN_STOPPING: State.STOPPING,
    Event.SEEN_EXITED: State.EXITED,
    Event.SEEN_MIGRATING: State.MIGRATING,
    **_LOST,
}

ARROWS: Mapping[State, Mapping[Event, State]] = {
    State.CREATING: {
        Event.PLACED: State.STARTING,
        Event.NOT_PLACED: State.FAILED,
        Event.DELETE: State.TERMINATING,
        Event.GONE: State.TERMINATED,
    },
    State.STARTING: {
        Event.SEEN_RUNNING: State.RUNNING,
        Event.SEEN_EXITED: State.EXITED,
        Event.START_GAVE_UP: State.EXITED,
        Event.STARTUP_DEADLINE: State.FAILED,
        Event.STARTUP_FAILED: State.FAILED,
        Event.STOP: State.STOPPING,
        Event.DELETE: State.TERMINATING,
        **_LOST,
    },
    State.RUNNING: {Event.CHECK_WANTED: State.HEALTH_CHECKING, **_IN_SERVICE},
    State.HEALTH_CHECKING: {
        Event.HEALTHY: State.READY,
        Event.HEALTH_DEADLINE: State.FAILED,
        **_IN_SERVICE,
    },
    State.READY: {Event.PROBES_FAILED: State.HEALTH_CHECKING, **_IN_SERVICE},
    State.STOPPING: {Event.SEEN_EXITED: State.EXITED, Event.DELETE: State.TERMINATING, **_LOST},
    State.EXITED: {
        Event.START: State.STARTING,
        Event.MIGRATE: State.MIGRATING,
        Event.SEEN_RUNNING: State.RUNNING,
        Event.DELETE: State.TERMINATING,
        **_LOST,
    },
    State.MIGRATING: {
        Event.SEEN_RUNNING: State.RUNNING,
        Event.SEEN_EXITED: State.EXITED,
        Event.MIGRATION_FAILED: State.EXITED,
        Event.DELETE: State.TERMINATING,
        **_LOST,
    },
    State.FAILED: {
        Event.STOP: State.STOPPING,
        Event.START: State.STARTING,
        Event.RESTART: State.STARTING,
        Event.HEALTHY: State.READY,
        Event.SEEN_EXITED: State.EXITED,
        Event.DELETE: State.TERMINATING,
        Event.DELETE_UNPLACED: State.TERMINATED,
        **_LOST,
    },
    State.TERMINATING: {Event.GONE: State.TERMINATED},
    State.TERMINATED: {Event.SEEN_AGAIN: State.TERMINATING},
}

_ENTRY: Mapping[State, PublicEvent] = {
    State.CREATING: PublicEvent.CREATING,
    State.STARTING: PublicEvent.STARTING,
    State.RUNNING: PublicEvent.RUNNING,
    State.HEALTH_CHECKING: PublicEvent.HEALTH_CHECKING,
    State.READY: PublicEvent.READY,
    State.STOPPING: PublicEvent.STOPPING,
    State.EXITED: PublicEvent.EXITED,
    State.MIGRATING: PublicEvent.MIGRATING,
    State.FAILED: PublicEvent.FAILED,
    State.TERMINATING: PublicEvent.TERMINATING,
    State.TERMINATED: PublicEvent.TERMINATED,
}
_BEFORE_ENTRY: Mapping[tuple[State, Event], PublicEvent] = {
    (State.CREATING, Event.PLACED): PublicEvent.PLACED,
    (State.MIGRATING, Event.SEEN_RUNNING): PublicEvent.MIGRATED,
    (State.TERMINATED, Event.SEEN_AGAIN): PublicEvent.DELETE_STUCK,
}

_MAKES_USABLE = frozenset({(Event.SEEN_RUNNING, State.RUNNING), (Event.HEALTHY, State.READY)})

_SIGHTS: Mapping[UpstreamState, Event] = {
    UpstreamState.RUNNING: Event.SEEN_RUNNING,
    UpstreamState.STOPPING: Event.SEEN_STOPPING,
    UpstreamState.EXITED: Event.SEEN_EXITED,
    UpstreamState.FROZEN: Event.SEEN_EXITED,
    UpstreamState.MIGRATING: Event.SEEN_MIGRATING,
    UpstreamState.REMOVING: Event.SEEN_REMOVING,
    UpstreamState.REMOVED: Event.SEEN_REMOVING,
}

_ADOPTED_AS: Mapping[UpstreamState, State] = {
    UpstreamState.RUNNING: State.RUNNING,
    UpstreamState.STOPPING: State.STOPPING,
    UpstreamState.EXITED: State.EXITED,
    UpstreamState.FROZEN: State.EXITED,
    UpstreamState.MIGRATING: State.MIGRATING,
    UpstreamState.REMOVING: State.TERMINATING,
    UpstreamState.REMOVED: State.TERMINATING,
}

_FREE = frozenset({State.CREATING, State.TERMINATED})


def advance(state: State, event: Event) -> Transition:
    """Return the arrow that leaves the state by the event."""
    target = ARROWS[state].get(event)
    if target is None:
        raise NoArrowError(state, event)
    before = _BEFORE_ENTRY.get((state, event))
    emits = (_ENTRY[target],) if before is None else (before, _ENTRY[target])
    may_emit = (PublicEvent.USABLE,) if (event, target) in _MAKES_USABLE else ()
    return Transition(state, event, target, emits, may_emit, is_alarm=event is Event.SEEN_AGAIN)


def has_arrow(state: State, event: Event) -> bool:
    """Tell whether the event may be asked of the state."""
    return event in ARROWS[state]


def sight_event(state: State, upstream: UpstreamState) -> Event | None:
    """Return what seeing an upstream so means for a state; None: it is no news, or not a state's matter."""
    if state is State.TERMINATED:
        return None if upstream in REMOVAL else Event.SEEN_AGAIN
    event = _SIGHTS.get(upstream)
    return event if event is not None and has_arrow(state, event) else None


def adopted_state(upstream: UpstreamState) -> State:
    """Return the state of a row made for an upstream that had none; unknown words count as starting."""
    return _ADOPTED_AS.get(upstream, State.STARTING)


def transitions() -> tuple[Transition, ...]:
    """Return every arrow, in the order of the table."""
    return tuple(advance(state, event) for state, arrows in ARROWS.items() for event in arrows)


def is_billable(state: State) -> bool:
    """Tell whether the cloud may be billing an instance in this state."""
    return state not in _FREE
