"""When brakes act and warn, as rules of figures alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ostler.domain.brakes import Brake, Meter, Stillness, horizons, idle_since, in_cloud_time, stillness
from ostler.domain.conflicts import Verb
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.spec import Limits, OnLimit
from ostler.domain.upstream import UpstreamState
from tests.support.builders import NOW, a_spec, after, an_instance

PLACED = Meter(NOW, placed_at=NOW, per_hour=Usd(36_000))
_STOPPED_BY = {State.STARTING, State.RUNNING, State.HEALTH_CHECKING, State.READY, State.FAILED}
_DELETED_BY = set(State) - {State.TERMINATING, State.TERMINATED}


def limited(limits: Limits, state: State = State.RUNNING) -> Instance:
    return an_instance(state, replace(a_spec(), limits=limits))


@pytest.mark.parametrize(("minutes", "notice"), [(20, 5), (50, 5), (60, 6), (600, 60)])
def test_a_warning_comes_five_minutes_or_a_tenth_before(minutes: int, notice: int) -> None:
    [horizon] = horizons(limited(Limits(ttl=timedelta(minutes=minutes))), PLACED)
    assert horizon.acts_at == after(minutes * 60)
    assert horizon.acts_at - horizon.warns_at == timedelta(minutes=notice)


def test_what_is_left_of_the_money_says_when_it_is_spent() -> None:
    instance = limited(Limits(max_cost=Usd(72_000)))
    [horizon] = horizons(instance, replace(PLACED, cost=Usd(54_000)))
    assert (horizon.brake, horizon.acts_at) == (Brake.MAX_COST, after(1800))
    assert horizon.acts_at - horizon.warns_at == timedelta(minutes=12)
    [spent] = horizons(instance, replace(PLACED, cost=Usd(72_000)))
    assert spent.acts_at == NOW


def test_no_limit_and_no_mark_lies_too_far_ahead_to_be_reckoned_with() -> None:
    latest = datetime.max.replace(tzinfo=UTC)
    limits = Limits(ttl=timedelta(days=365), max_cost=Usd(10**11), idle_stop=timedelta(days=30))
    used = replace(an_instance(State.READY, replace(a_spec(), limits=limits)), ready_at=NOW)
    for per_hour, spent_s in ((1, 3650 * 86_400), (10**7, 10_000 * 3600)):
        found = horizons(used, replace(PLACED, per_hour=Usd(per_hour), last_used_at=latest))
        acts = {each.brake: each.acts_at for each in found}
        assert acts[Brake.IDLE] == latest
        assert acts[Brake.MAX_COST] == after(spent_s)


def test_without_a_placement_nothing_has_begun() -> None:
    instance = limited(Limits(ttl=timedelta(hours=1), max_cost=Usd(1)))
    assert horizons(instance, Meter(NOW)) == []


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize(
    ("on_limit", "verb", "states"),
    [(OnLimit.STOP, Verb.STOP, _STOPPED_BY), (OnLimit.DELETE, Verb.DELETE, _DELETED_BY)],
)
def test_a_brake_acts_where_it_changes_something(
    state: State, on_limit: OnLimit, verb: Verb, states: set[State]
) -> None:
    found = horizons(limited(Limits(ttl=timedelta(hours=1), on_limit=on_limit), state), PLACED)
    assert [horizon.verb for horizon in found] == ([verb] if state in states else [])


def test_what_failed_and_is_stopped_already_is_not_stopped_again() -> None:
    failed = replace(
        limited(Limits(ttl=timedelta(hours=1)), State.FAILED), upstream_state=UpstreamState.EXITED
    )
    assert horizons(failed, PLACED) == []


def test_idleness_counts_from_the_later_of_being_usable_and_being_used() -> None:
    instance = limited(Limits(idle_stop=timedelta(minutes=30)))
    assert idle_since(instance, None) == idle_since(instance, after(-60)) == NOW
    assert idle_since(instance, after(60)) == after(60)
    assert idle_since(an_instance(State.EXITED), after(60)) is None
    [horizon] = horizons(replace(instance, ready_at=NOW), replace(PLACED, last_used_at=after(60)))
    assert (horizon.verb, horizon.acts_at) == (Verb.STOP, after(60 + 1800))


@pytest.mark.parametrize(
    ("percents", "said"),
    [((), Stillness.UNMEASURED), ((0.0, 4.9), Stillness.STILL), ((0.0, 5.0, 0.0), Stillness.BUSY)],
)
def test_still_is_under_five_percent_in_every_sample(percents: tuple[float, ...], said: Stillness) -> None:
    assert stillness(percents) is said


def test_a_cloud_whose_clock_is_elsewhere_is_asked_by_its_own() -> None:
    elsewhere = NOW + timedelta(days=200)
    assert in_cloud_time(after(90), NOW, elsewhere) == elsewhere + timedelta(seconds=90)
    assert in_cloud_time(after(90), NOW, after(-60)) == after(90)
    assert in_cloud_time(after(90), NOW, None) == after(90)
