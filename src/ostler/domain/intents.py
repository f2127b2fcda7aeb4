"""What people (and brakes) ask of an instance: the change that an accepted verb makes, as a value.

Whether a verb is accepted at all was decided by `conflicts.py`; here its `Accept` is carried into the
instance: what is wanted from now on, the arrow that is taken at once, and the work to ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ostler.domain.conflicts import Accept, Verb
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change, Instance, begin_start, move
from ostler.domain.lifecycle import Event, State
from ostler.domain.phases import StopReason, Wanted
from ostler.domain.work import WorkKind


@dataclass(frozen=True, slots=True)
class Order:
    """An accepted verb: when, why, and how the application is checked afterwards."""

    verb: Verb
    at: datetime
    stop_reason: StopReason = StopReason.USER
    health: HealthPolicy | None = None  # of a start; any other verb keeps what the instance has
    why: str = ""


_WANTED: Mapping[Verb, Wanted] = {
    Verb.START: Wanted.RUNNING,
    Verb.RESTART: Wanted.RUNNING,
    Verb.MIGRATE: Wanted.RUNNING,
    Verb.STOP: Wanted.STOPPED,
    Verb.DELETE: Wanted.TERMINATED,
}
_WORK: Mapping[Event, WorkKind] = {
    Event.START: WorkKind.START,
    Event.STOP: WorkKind.STOP,
    Event.RESTART: WorkKind.RESTART,
    Event.MIGRATE: WorkKind.MIGRATE,
    Event.DELETE: WorkKind.DELETE,
}
_BEGINS_A_START = frozenset({Event.START, Event.RESTART, Event.MIGRATE})


def intend(instance: Instance, accepted: Accept, order: Order) -> Change:
    """Return the instance with an accepted verb in it."""
    wished = _wished(instance, order)
    if accepted.event is None:
        return _remembered(wished, order)
    change = move(wished, accepted.event, order.why or order.verb.value)
    if accepted.event in _BEGINS_A_START:
        change = replace(change, instance=begin_start(change.instance, order.at))
    work = _WORK.get(accepted.event)
    return change if work is None else change.asking(work)


def _wished(instance: Instance, order: Order) -> Instance:
    wished = replace(instance, wanted=_WANTED[order.verb])
    match order.verb:
        case Verb.STOP:
            return replace(wished, stop_reason=order.stop_reason)
        case Verb.START:
            return replace(wished, health=order.health)
        case Verb.RESTART | Verb.MIGRATE | Verb.DELETE:
            return wished


def _remembered(instance: Instance, order: Order) -> Change:
    """A stop of what is not placed yet is the create's to carry out; what is going already is watched."""
    change = Change(instance)
    if order.verb is Verb.DELETE:
        return change.asking(WorkKind.DELETE)
    return change.asking(WorkKind.CREATE if instance.state is State.CREATING else WorkKind.STOP)
