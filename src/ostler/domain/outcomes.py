"""What an instance becomes by what the cloud did or did not do: placed, started late, failed, gone.

Each function takes the instance as it was re-read and returns a `Change`; asked twice, or of a row whose
owner has changed their mind meanwhile, it still ends well. What the watcher sees is told by `observation.py`.
"""

from dataclasses import replace
from datetime import datetime

from ostler.domain.events import PublicEvent
from ostler.domain.failures import Failure
from ostler.domain.instance import Change, Instance, became_usable, begin_start, move
from ostler.domain.lifecycle import Event, State, has_arrow
from ostler.domain.phases import Wanted
from ostler.domain.readiness import EndpointHealth, Overall, has_lost_readiness, overall
from ostler.domain.spec import OnFailure
from ostler.domain.work import WorkKind


class AlreadyPlacedError(Exception):
    """A second upstream was to be assigned to an instance: it is a duplicate, never a replacement."""

    def __init__(self, instance: Instance, upstream_id: str) -> None:
        super().__init__(f"instance {instance.id} has upstream {instance.upstream_id}, not {upstream_id}")


def placed(instance: Instance, upstream_id: str, at: datetime) -> Change:
    """Return the instance with its upstream; a stop or delete asked for meanwhile follows at once."""
    if instance.upstream_id == upstream_id:
        return Change(instance)
    if instance.upstream_id is not None:
        raise AlreadyPlacedError(instance, upstream_id)
    assigned = replace(instance, upstream_id=upstream_id, placed_at=at, observed_at=at)
    if instance.state is State.FAILED:  # it surfaced after its owner was told that there is nothing
        late = replace(assigned, wanted=Wanted.TERMINATED)
        return move(late, Event.DELETE, "it was placed after all").asking(WorkKind.DELETE)
    if instance.state is not State.CREATING:
        return Change(assigned).asking(WorkKind.DELETE)
    change = move(begin_start(assigned, at), Event.PLACED)
    if instance.wanted is Wanted.STOPPED:
        return change.then(lambda placed: move(placed, Event.STOP, "asked for while creating")).asking(
            WorkKind.STOP
        )
    return change


def not_placed(instance: Instance, failure: Failure) -> Change:
    """Return the instance whose create came to nothing: no attempt left anything at the cloud."""
    match instance.state:
        case State.CREATING:
            return move(replace(instance, error=failure), Event.NOT_PLACED, failure.message)
        case State.TERMINATING if instance.upstream_id is None:
            return gone(instance, failure.at, "nothing of it was ever at the cloud")
        case _:
            return Change(instance)


def start_failed(instance: Instance, event: Event, failure: Failure) -> Change:
    """Return the instance whose start is over without success, by a deadline or by the cloud's word.

    A create that was never usable then follows its `onFailure`; a later start keeps what it has.
    """
    if not has_arrow(instance.state, event) or instance.is_usable:
        return Change(instance)
    billed = replace(failure, still_billed=instance.upstream_id is not None)
    change = move(replace(instance, error=billed), event, failure.message)
    return change.then(_after_failed_create) if is_first_start(instance) else change


def is_first_start(instance: Instance) -> bool:
    """Tell whether it is still being created: placed once, and never usable."""
    return instance.starts == 1 and instance.first_ready_at is None


def start_gave_up(instance: Instance, failure: Failure) -> Change:
    """Return the instance stopped again, because no capacity was found for its start in time."""
    if instance.state is not State.STARTING:
        return Change(instance)
    hint = failure.hint or "migrate it to another machine"
    stopped = replace(instance, error=replace(failure, hint=hint), wanted=Wanted.STOPPED)
    return move(stopped, Event.START_GAVE_UP, failure.message)


def migration_failed(instance: Instance, failure: Failure) -> Change:
    """Return the instance stopped, because its migration came to nothing."""
    if instance.state is not State.MIGRATING:
        return Change(instance)
    return move(replace(instance, error=failure), Event.MIGRATION_FAILED, failure.message)


def gone(instance: Instance, at: datetime, why: str = "the cloud says that it is gone") -> Change:
    """Return the instance terminated, on the cloud's word; see `sightings.py` for when that is given."""
    if instance.state is State.TERMINATED:
        return Change(instance)
    error = None if instance.error is None else replace(instance.error, still_billed=False)
    wordless = replace(
        instance, observed_at=at, error=error, upstream_word=""
    )  # the cloud says nothing of it
    return move(wordless, Event.GONE, why)


def health_judged(instance: Instance, endpoints: tuple[EndpointHealth, ...], at: datetime) -> Change:
    """Return the instance after one round of checks or probes; what was asked before its start is old."""
    began_at = instance.start_began_at
    if began_at is not None and any(each.last_checked < began_at for each in endpoints):
        return Change(instance)
    if overall(endpoints) is Overall.HEALTHY:
        return _healthy(instance, at)
    if instance.state is not State.READY:
        return Change(instance)
    failed = instance.failed_probes + 1
    counted = replace(instance, failed_probes=failed)
    if not has_lost_readiness(failed):
        return Change(counted)
    return _unready(counted)


def recreated(instance: Instance, upstream_id: str, at: datetime) -> Change:
    """Return the instance on a new upstream; the old one is kept until the new one is usable."""
    if instance.upstream_id == upstream_id or instance.state is not State.MIGRATING:
        return Change(instance)
    moved = replace(
        instance,
        predecessor_id=instance.upstream_id,
        upstream_id=upstream_id,
        upstream_state=None,
        command=None,  # it was about the old one, and never sent
        placed_at=at,
        observed_at=at,
    )
    return Change(moved)


def _healthy(instance: Instance, at: datetime) -> Change:
    calm = replace(instance, failed_probes=0)
    if instance.upstream_id is None or not has_arrow(instance.state, Event.HEALTHY):
        return Change(calm)
    change = move(replace(calm, error=None), Event.HEALTHY).then(lambda ready: became_usable(ready, at))
    return cleared_predecessor(change)


def cleared_predecessor(change: Change) -> Change:
    """Return the change; once a recreated instance is usable, its old upstream is to go."""
    has_old = change.instance.predecessor_id is not None and change.instance.is_usable
    return change.asking(WorkKind.CLEAR_PREDECESSOR) if has_old else change


def _unready(instance: Instance) -> Change:
    change = move(instance, Event.PROBES_FAILED, f"{instance.failed_probes} failed probes in a row")
    return change.telling(PublicEvent.HEALTH).asking(WorkKind.CHECK_HEALTH)


def _after_failed_create(instance: Instance) -> Change:
    match instance.spec.on_failure:
        case OnFailure.DELETE:
            unwanted = replace(instance, wanted=Wanted.TERMINATED)
            return move(unwanted, Event.DELETE, "onFailure: delete").asking(WorkKind.DELETE)
        case OnFailure.STOP:
            unwanted = replace(instance, wanted=Wanted.STOPPED)
            return move(unwanted, Event.STOP, "onFailure: stop").asking(WorkKind.STOP)
        case OnFailure.KEEP:
            return Change(instance)
