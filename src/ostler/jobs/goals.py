"""What placing is for, read from the row each time: pure.

A row without an upstream is to get its first one; one that was reclaimed and is to be recreated gets
another. What is left of attempts when neither is wanted any more is only brought to its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ostler.domain.attempts import OPEN_STATES, Attempt
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.phases import Wanted
from ostler.domain.provision_steps import Terms, may_place
from ostler.domain.spec import OnReclaim
from ostler.store.attempts import AttemptRow
from ostler.store.instances import InstanceRow


class Purpose(StrEnum):
    """Why attempts are made."""

    PLACE = "place"
    RECREATE = "recreate"
    CLOSE = "close"  # nothing new is wanted: only find out what became of what was sent


@dataclass(frozen=True, slots=True)
class Goal:
    """The purpose, the instance, and those of its attempts that belong to it, oldest first."""

    purpose: Purpose
    row: InstanceRow
    attempts: tuple[AttemptRow, ...]
    next_number: int

    @property
    def instance(self) -> Instance:
        """The instance as it was read."""
        return self.row.instance

    @property
    def history(self) -> tuple[Attempt, ...]:
        """The attempts as the domain knows them."""
        return tuple(each.attempt for each in self.attempts)

    def is_wanted(self, now: Instance) -> bool:
        """Tell whether another attempt may be made."""
        match self.purpose:
            case Purpose.PLACE:
                return may_place(now, self.history)
            case Purpose.RECREATE:
                return now.wanted is not Wanted.TERMINATED
            case Purpose.CLOSE:
                return False

    def row_of(self, attempt: Attempt) -> AttemptRow:
        """Return the stored form of an attempt of the history."""
        return next(each for each in self.attempts if each.attempt.number == attempt.number)


def goal_of(row: InstanceRow, attempts: Sequence[AttemptRow]) -> Goal | None:
    """Return what is to be done about an instance's attempts; None: nothing."""
    purpose = _purpose(row.instance, attempts)
    if purpose is None:
        return None
    first = 1 if purpose is Purpose.PLACE or row.placement is None else row.placement.attempt + 1
    mine = tuple(each for each in attempts if each.attempt.number >= first)
    next_number = max((each.attempt.number for each in attempts), default=0) + 1
    return Goal(purpose, row, mine, next_number)


def is_recreation(instance: Instance) -> bool:
    """Tell whether a migration is to be carried out by a new attempt elsewhere."""
    return (
        instance.state is State.MIGRATING
        and instance.is_reclaimed
        and instance.spec.on_reclaim is OnReclaim.RECREATE
        and instance.predecessor_id is None
    )


def terms_of(goal: Goal, *, do_others_pass: bool) -> Terms:
    """Return the conditions under which a goal is pursued."""
    spec = goal.instance.spec
    return Terms(
        is_wanted=goal.is_wanted(goal.instance),
        billing_mode=spec.billing_mode,
        do_others_pass=do_others_pass,
        may_repeat_offers=spec.retry_until_available,
    )


def _purpose(instance: Instance, attempts: Sequence[AttemptRow]) -> Purpose | None:
    if instance.upstream_id is None and instance.state in {State.CREATING, State.TERMINATING}:
        return Purpose.PLACE
    if is_recreation(instance):
        return Purpose.RECREATE
    if any(each.attempt.state in OPEN_STATES for each in attempts):
        return Purpose.CLOSE
    return None
