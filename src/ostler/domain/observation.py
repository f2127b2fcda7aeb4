"""What a believed sight does to an instance: the one way from the watcher's looks to a changed row.

A sight that is stale changes nothing; one from before a command still under way only dates the row. What
it says of the state goes through the table of `lifecycle.py`.
"""

from dataclasses import replace
from datetime import datetime

from ostler.domain.events import PublicEvent
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Change, Instance, became_usable, begin_start, move
from ostler.domain.lifecycle import Event, State, adopted_state, sight_event
from ostler.domain.outcomes import cleared_predecessor, is_first_start, start_failed
from ostler.domain.phases import StopReason, TerminatingPhase, Wanted, seen_phase
from ostler.domain.sightings import Belief, Sight, belief
from ostler.domain.spec import InstanceSpec, OnReclaim
from ostler.domain.upstream import STOPPED, UpstreamState
from ostler.domain.work import WorkKind

_COMING_UP = frozenset({State.STARTING, State.MIGRATING})


def seen(instance: Instance, sight: Sight, now: datetime) -> Change:
    """Return the instance after a sight of its upstream; any other upstream is not its matter."""
    if sight.upstream_id != instance.upstream_id:
        return Change(instance)
    match belief(sight, instance.command, instance.observed_at, now):
        case Belief.STALE:
            return Change(instance)
        case Belief.NOT_YET:
            return Change(replace(instance, observed_at=sight.requested_at))
        case Belief.NEWS:
            return _noted(instance, sight).then(lambda noted: _moved(noted, sight, now))


def adopted(instance_id: str, spec: InstanceSpec, sight: Sight, now: datetime) -> Change:
    """Return a new instance made for an upstream that carries our mark, or that somebody adopted by hand."""
    state = adopted_state(sight.state)
    is_stopped = sight.state in STOPPED
    row = Instance(
        id=instance_id,
        name=spec.name,
        spec=spec,
        created_at=now,
        state=state,
        phase=TerminatingPhase.DELETING if state is State.TERMINATING else seen_phase(sight.state),
        wanted=_adopted_wish(state),
        upstream_id=sight.upstream_id,
        upstream_state=sight.state,
        upstream_word=sight.word,
        observed_at=sight.requested_at,
        placed_at=now,
        starts=0 if is_stopped else 1,
        start_began_at=None if is_stopped else now,
        stop_reason=_stop_reason(sight) if is_stopped else None,
        is_reclaimed=sight.is_reclaimed,
        reclaim_at=sight.reclaim_at,
    )
    change = Change(row).telling(PublicEvent.ORPHAN_ADOPTED)
    if state is not State.RUNNING:
        return change
    return change.then(lambda running: became_usable(running, now)).asking(WorkKind.REFRESH)


def _noted(instance: Instance, sight: Sight) -> Change:
    is_new_word = sight.state is UpstreamState.UNKNOWN and sight.word != instance.upstream_word
    is_new_notice = sight.reclaim_at is not None and sight.reclaim_at != instance.reclaim_at
    phase = seen_phase(sight.state) if instance.state is State.STARTING else None
    noted = replace(
        instance,
        observed_at=sight.requested_at,
        upstream_state=sight.state,
        upstream_word=sight.word,
        reclaim_at=sight.reclaim_at or instance.reclaim_at,
        phase=phase or instance.phase,
    )
    change = Change(noted)
    if is_new_word:
        change = change.telling(PublicEvent.UPSTREAM_UNKNOWN, f"the cloud says {sight.word!r}")
    if is_new_notice and sight.state not in STOPPED:
        assert sight.reclaim_at is not None, "that is what is new"
        details = {"reclaimAt": sight.reclaim_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        change = change.telling(PublicEvent.SPOT_NOTICE, "the cloud will take the node back", details)
    return change


def _moved(instance: Instance, sight: Sight, now: datetime) -> Change:
    event = sight_event(instance.state, sight.state)
    match event:
        case None:
            return _still_exited(instance, sight) if instance.state is State.EXITED else Change(instance)
        case Event.SEEN_RUNNING:
            return _seen_running(instance, sight, now)
        case Event.SEEN_EXITED:
            return _seen_exited(instance, sight, now)
        case Event.SEEN_MIGRATING:
            change = move(instance, event, "moved by the cloud")
            return replace(change, instance=begin_start(change.instance, now))
        case Event.SEEN_AGAIN:
            wanted_gone = replace(instance, wanted=Wanted.TERMINATED)
            return move(wanted_gone, event, "it was gone, and is billed again").asking(WorkKind.DELETE)
        case _:
            return move(instance, event, f"the cloud says {sight.word!r}")


def _seen_running(instance: Instance, sight: Sight, now: datetime) -> Change:
    if not sight.is_detailed:
        return Change(instance).asking(WorkKind.REFRESH)
    started = instance
    if instance.state is State.EXITED:
        started = replace(begin_start(instance, now), wanted=Wanted.RUNNING)
    fresh = replace(started, stop_reason=None, is_reclaimed=False, reclaim_at=sight.reclaim_at)
    change = move(fresh, Event.SEEN_RUNNING)
    if fresh.health is not None:
        return change.then(lambda running: move(running, Event.CHECK_WANTED)).asking(WorkKind.CHECK_HEALTH)
    return cleared_predecessor(change.then(lambda running: became_usable(running, now)))


def _seen_exited(instance: Instance, sight: Sight, now: datetime) -> Change:
    was_asked = instance.state is State.STOPPING and instance.stop_reason is not None
    reason = instance.stop_reason if was_asked else _stop_reason(sight)
    stopped = replace(instance, stop_reason=reason, is_reclaimed=sight.is_reclaimed)
    if instance.state in _COMING_UP:
        stopped = replace(stopped, error=_stopped_early(sight, now))
        if sight.failure and instance.state is State.STARTING and is_first_start(instance):
            return start_failed(stopped, Event.STARTUP_FAILED, _stopped_early(sight, now))
    change = move(stopped, Event.SEEN_EXITED, "" if reason is None else reason.value)
    return _recovering(change, sight)


def _stopped_early(sight: Sight, now: datetime) -> Failure:
    """Return why a start has failed that ended before anything ran."""
    said = sight.failure or ("the spot node was taken back" if sight.is_reclaimed else sight.word)
    message = f"it stopped before it was running; the cloud says: {said}"
    return Failure(FailureCode.STARTUP_FAILED, message, now, "see its logs", still_billed=True)


def _still_exited(instance: Instance, sight: Sight) -> Change:
    """The reclaim may show only after the exit did."""
    if instance.is_reclaimed or not sight.is_reclaimed:
        return Change(instance)
    is_ours = instance.wanted is not Wanted.RUNNING
    reason = instance.stop_reason if is_ours else StopReason.SPOT_RECLAIMED
    return _recovering(Change(replace(instance, is_reclaimed=True, stop_reason=reason)), sight)


def _recovering(change: Change, sight: Sight) -> Change:
    instance = change.instance
    is_to_recover = sight.is_reclaimed and instance.wanted is Wanted.RUNNING
    if not is_to_recover or instance.spec.on_reclaim is OnReclaim.NONE:
        return change
    return change.asking(WorkKind.RECOVER)


def _stop_reason(sight: Sight) -> StopReason:
    return StopReason.SPOT_RECLAIMED if sight.is_reclaimed else StopReason.PLATFORM


def _adopted_wish(state: State) -> Wanted:
    match state:
        case State.TERMINATING:
            return Wanted.TERMINATED
        case State.EXITED | State.STOPPING:
            return Wanted.STOPPED
        case _:
            return Wanted.RUNNING
