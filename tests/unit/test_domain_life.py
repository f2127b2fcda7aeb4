"""Whole lives at random: verbs, sights, deadlines and probes in any order keep the promises of the domain."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ostler.domain.conflicts import Accept, Verb, decide, situation
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Change, Instance, accepted
from ostler.domain.intents import Order, intend
from ostler.domain.ledger import interval_state
from ostler.domain.lifecycle import Event, State, advance, is_billable, transitions
from ostler.domain.observation import seen
from ostler.domain.outcomes import (
    gone,
    health_judged,
    migration_failed,
    not_placed,
    placed,
    start_failed,
    start_gave_up,
)
from ostler.domain.phases import phase_of
from ostler.domain.sightings import Command
from ostler.domain.spec import OnFailure
from ostler.domain.upstream import UpstreamState
from tests.support.builders import INSTANCE_ID, NOW, UPSTREAM_ID, a_failure, a_sight, a_spec, an_endpoint

ARROWS = {(arrow.source, arrow.target) for arrow in transitions()}


@dataclass
class History:
    """What was told, per start."""

    usable: dict[int, int] = field(default_factory=dict)
    word_given: bool = False


class AnyLife(RuleBasedStateMachine):
    """One instance, everything that may happen to it, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        spec = replace(a_spec(), on_failure=OnFailure.DELETE)
        self.instance: Instance = accepted(INSTANCE_ID, spec, None, NOW).instance
        self.history = History()

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def _apply(self, change: Change) -> None:
        state = self.instance.state
        for draft in change.events:
            if draft.from_state == draft.to_state:
                continue
            if draft.name.value == f"instance.{draft.to_state}":
                assert draft.from_state == state.value
                assert (state, State(draft.to_state)) in ARROWS
                state = State(draft.to_state)
        assert state is change.instance.state
        for draft in change.events:
            if draft.name.value == "instance.usable":
                start = change.instance.starts
                self.history.usable[start] = self.history.usable.get(start, 0) + 1
        self.instance = change.instance

    @rule(seconds=st.floats(0.1, 40))
    def time_passes(self, seconds: float) -> None:
        self.seconds += seconds

    @rule(verb=st.sampled_from(Verb), is_checked=st.booleans())
    def somebody_asks(self, verb: Verb, is_checked: bool) -> None:  # noqa: FBT001 -- drawn by name
        decision = decide(verb, situation(self.instance, None))
        if not isinstance(decision, Accept):
            return
        health = HealthPolicy() if is_checked else None
        before = self.instance.upstream_state
        self.history.word_given |= (
            decision.event is Event.DELETE_UNPLACED and self.instance.upstream_id is None
        )
        self._apply(intend(self.instance, decision, Order(verb, self.now, health=health)))
        self.instance = replace(self.instance, command=Command(self.now, self.now, before))

    @precondition(lambda self: self.instance.upstream_id is None)
    @rule()
    def the_cloud_places_it(self) -> None:
        if self.instance.state in {State.CREATING, State.TERMINATING}:
            self._apply(placed(self.instance, UPSTREAM_ID, self.now))

    @precondition(lambda self: self.instance.upstream_id is None)
    @rule()
    def the_cloud_refuses_it(self) -> None:
        self.history.word_given |= self.instance.state is State.TERMINATING
        self._apply(not_placed(self.instance, a_failure()))

    @precondition(lambda self: self.instance.upstream_id is not None)
    @rule(
        upstream=st.sampled_from(UpstreamState),
        age=st.floats(0, 20),
        is_reclaimed=st.booleans(),
        is_detailed=st.booleans(),
    )
    def it_is_seen(self, upstream: UpstreamState, age: float, is_reclaimed: bool, is_detailed: bool) -> None:  # noqa: FBT001 -- drawn by name
        sight = a_sight(upstream, self.seconds - age)
        is_taken = is_reclaimed and upstream is UpstreamState.EXITED
        self._apply(
            seen(self.instance, replace(sight, is_reclaimed=is_taken, is_detailed=is_detailed), self.now)
        )

    @precondition(lambda self: self.instance.upstream_id is not None)
    @rule(healthy=st.booleans(), age=st.floats(0, 20))
    def it_is_probed(self, healthy: bool, age: float) -> None:  # noqa: FBT001 -- drawn by name
        endpoint = an_endpoint(healthy=healthy, seconds=self.seconds - age)
        self._apply(health_judged(self.instance, (endpoint,), self.now))

    @rule(event=st.sampled_from([Event.STARTUP_DEADLINE, Event.STARTUP_FAILED, Event.HEALTH_DEADLINE]))
    def a_deadline_passes(self, event: Event) -> None:
        self._apply(start_failed(self.instance, event, a_failure()))

    @rule()
    def a_start_finds_no_capacity(self) -> None:
        self._apply(start_gave_up(self.instance, a_failure()))

    @rule()
    def a_migration_fails(self) -> None:
        self._apply(migration_failed(self.instance, a_failure()))

    @precondition(lambda self: self.instance.upstream_id is not None)
    @rule()
    def the_cloud_says_gone(self) -> None:
        self.history.word_given = True
        self._apply(gone(self.instance, self.now))

    @invariant()
    def terminated_only_on_the_clouds_word(self) -> None:
        assert self.instance.state is not State.TERMINATED or self.history.word_given

    @invariant()
    def usable_is_told_at_most_once_per_start(self) -> None:
        assert all(count == 1 for count in self.history.usable.values())

    @invariant()
    def nothing_billable_is_left_out_of_the_ledger(self) -> None:
        instance = self.instance
        opened = interval_state(
            instance.state, instance.upstream_state, has_upstream=instance.upstream_id is not None
        )
        is_due = is_billable(instance.state) and instance.upstream_id is not None
        assert (opened is not None) is is_due

    @invariant()
    def its_phase_belongs_to_its_state(self) -> None:
        phase = self.instance.phase
        assert phase_of(self.instance.state, None if phase is None else phase.value) == phase

    @invariant()
    def a_ready_instance_has_been_ready(self) -> None:
        if self.instance.state is State.READY:
            assert self.instance.is_usable
            assert self.instance.first_ready_at is not None


AnyLife.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestAnyLife = AnyLife.TestCase


def test_the_machine_above_can_reach_every_state() -> None:
    reached, edge = {State.CREATING}, {State.CREATING}
    while edge:
        edge = {target for source, target in ARROWS if source in edge} - reached
        reached |= edge
    assert reached == set(State)
    assert advance(State.CREATING, Event.PLACED).target is State.STARTING
