"""An *instance*: what the user asked for. Ours; the cloud's side of it is the upstream.

A frozen value with everything that a decision about it needs. It is changed only by the functions of
`intents.py` (what people ask) and `outcomes.py` (what the cloud says), each of which returns a `Change`:
the new value, the events to write and the work to ask for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ostler.domain.events import EventDraft, PublicEvent
from ostler.domain.failures import Failure
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.lifecycle import Event, State, advance
from ostler.domain.phases import (
    CreatingPhase,
    Phase,
    StartingPhase,
    StopReason,
    TerminatingPhase,
    Wanted,
    phase_of,
)
from ostler.domain.sightings import Command
from ostler.domain.spec import InstanceSpec
from ostler.domain.upstream import STOPPED, UpstreamState
from ostler.domain.work import Work, WorkKind

USABLE_STATES = frozenset({State.RUNNING, State.HEALTH_CHECKING, State.READY})


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance. `version` belongs to the store: it counts there, and guards each write."""

    id: str
    name: str
    spec: InstanceSpec
    created_at: datetime
    state: State = State.CREATING
    phase: Phase | None = CreatingPhase.QUEUED
    wanted: Wanted = Wanted.RUNNING
    upstream_id: str | None = None
    predecessor_id: str | None = None  # its upstream before it was recreated elsewhere, until that is gone
    upstream_state: UpstreamState | None = None
    upstream_word: str = ""  # as the cloud spelt it, for people
    observed_at: datetime | None = None  # when the request began whose answer was last believed
    command: Command | None = None  # the last one sent to the cloud
    placed_at: datetime | None = None  # when the cloud answered with its upstream
    starts: int = 0
    start_began_at: datetime | None = None
    health: HealthPolicy | None = None  # of this start; None: running is usable
    failed_probes: int = 0  # in a row, while ready
    ready_at: datetime | None = None  # of this start
    first_ready_at: datetime | None = None  # of all starts
    stop_reason: StopReason | None = None
    reclaim_at: datetime | None = None  # announced by the cloud
    is_reclaimed: bool = False
    error: Failure | None = None
    version: int = 0

    @property
    def is_usable(self) -> bool:
        """Whether the owner can work on it: it became ready since its last start, and still runs."""
        return self.ready_at is not None and self.state in USABLE_STATES

    @property
    def is_upstream_stopped(self) -> bool:
        """Whether the cloud has stopped it, whatever our state says."""
        return self.upstream_state in STOPPED


@dataclass(frozen=True, slots=True)
class Change:
    """What became of an instance, to be written in one transaction."""

    instance: Instance
    events: tuple[EventDraft, ...] = ()
    work: tuple[Work, ...] = ()

    def then(self, step: Callable[[Instance], "Change"]) -> "Change":
        """Return this change followed by another one."""
        after = step(self.instance)
        return Change(after.instance, self.events + after.events, self.work + after.work)

    def asking(self, kind: WorkKind) -> "Change":
        """Return this change with work to ask for."""
        return replace(self, work=(*self.work, Work(kind, self.instance.id)))

    def telling(
        self, name: PublicEvent, reason: str = "", details: Mapping[str, object] | None = None
    ) -> "Change":
        """Return this change with an event that moves nothing."""
        state = self.instance.state.value
        told = EventDraft(name, state, state, reason, details=details or {})
        return replace(self, events=(*self.events, told))


def accepted(instance_id: str, spec: InstanceSpec, health: HealthPolicy | None, at: datetime) -> Change:
    """Return a new instance whose request was just accepted."""
    instance = Instance(id=instance_id, name=spec.name, spec=spec, created_at=at, health=health)
    born = EventDraft(PublicEvent.CREATING, None, instance.state.value)
    return Change(instance, (born,)).asking(WorkKind.CREATE)


def move(instance: Instance, event: Event, reason: str = "") -> Change:
    """Return the instance after an event: the one place where a state changes."""
    arrow = advance(instance.state, event)
    moved = replace(instance, state=arrow.target, phase=_first_phase(arrow.target, event))
    drafts = tuple(
        EventDraft(
            name, arrow.source.value, arrow.target.value, reason, arrow.is_alarm, _details(moved, name)
        )
        for name in arrow.emits
    )
    return Change(moved, drafts)


def _details(instance: Instance, name: PublicEvent) -> Mapping[str, object]:
    """Return what an event tells beside its ends: of a migration, the upstreams."""
    if name is not PublicEvent.MIGRATED:
        return {}
    upstreams = {
        "novitaInstanceId": instance.upstream_id,
        "previousNovitaInstanceId": instance.predecessor_id,
    }
    return {word: upstream for word, upstream in upstreams.items() if upstream is not None}


def begin_start(instance: Instance, at: datetime) -> Instance:
    """Return the instance at the beginning of another start: its clock runs, it is not usable yet."""
    return replace(
        instance,
        starts=instance.starts + 1,
        start_began_at=at,
        ready_at=None,
        failed_probes=0,
        error=None,
    )


def became_usable(instance: Instance, at: datetime) -> Change:
    """Return the instance usable since `at`; said once per start, whatever repeats."""
    if instance.ready_at is not None:
        return Change(instance)
    first = instance.first_ready_at or at
    return Change(replace(instance, ready_at=at, first_ready_at=first)).telling(PublicEvent.USABLE)


def in_phase(instance: Instance, phase: Phase) -> Instance:
    """Return the instance in a phase of its state."""
    return replace(instance, phase=phase_of(instance.state, phase.value))


def commanded(instance: Instance, command: Command) -> Instance:
    """Return the instance with a command on its way to the cloud, or answered by it."""
    return replace(instance, command=command)


def _first_phase(target: State, event: Event) -> Phase | None:
    match target:
        case State.STARTING:
            return StartingPhase.PROVISIONING if event is Event.PLACED else StartingPhase.BOOTING
        case State.TERMINATING:
            return TerminatingPhase.DELETING
        case _:
            return None
