"""The life of one instance against the pretend cloud: from its create to its tombstone, as it is told."""

import pytest

from ostler.domain.events import PublicEvent
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind, Outcome
from ostler.domain.start_requests import StartRequest
from ostler.store.ledger import intervals_of
from ostler.store.operations import operations_of
from ostler.usecases.asking import ById
from tests.support.core import SOMEBODY, Ostler, a_wish, an_installation

pytestmark = pytest.mark.looptime


async def _live(ostler: Ostler) -> str:
    """Lead one instance through every verb, to its end."""
    accepted = await ostler.accept(a_wish())
    target = ById(accepted.instance_id)
    await ostler.until(accepted.instance_id, State.RUNNING)
    await ostler.verbs.stop(target, SOMEBODY)
    await ostler.until(accepted.instance_id, State.EXITED)
    await ostler.verbs.start(target, SOMEBODY, StartRequest(), HealthPolicy())
    await ostler.until(accepted.instance_id, State.READY)
    await ostler.verbs.restart(target, SOMEBODY)
    await ostler.until(accepted.instance_id, State.READY)
    await ostler.verbs.delete(target, SOMEBODY)
    await ostler.until(accepted.instance_id, State.TERMINATED)
    return accepted.instance_id


async def test_every_step_of_a_life_is_told_in_order_without_a_gap() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        events = await ostler.events(await _live(ostler))
    assert [event.name.value.partition(".")[2] for event in events] == [
        *("creating", "placed", "starting", "running", "usable", "succeeded"),
        *("stopping", "exited", "succeeded"),
        *("starting", "running", "health_checking", "ready", "usable", "succeeded"),
        *("starting", "running", "health_checking", "ready", "usable", "succeeded"),
        *("terminating", "terminated", "succeeded"),
    ]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.id for event in events] == sorted({event.id for event in events})


async def test_every_verb_is_an_operation_that_succeeds_and_names_who_asked() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _live(ostler)
        rows = await ostler.database.read(lambda connection: operations_of(connection, instance_id))
    kinds = [row.operation.kind for row in reversed(rows)]
    assert kinds == [
        OperationKind.CREATE,
        OperationKind.STOP,
        OperationKind.START,
        OperationKind.RESTART,
        OperationKind.DELETE,
    ]
    assert {row.operation.outcome for row in rows} == {Outcome.SUCCEEDED}
    assert {row.asked_by for row in rows} == {SOMEBODY.name}


async def test_the_ledger_agrees_with_what_the_cloud_has_billed() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _live(ostler)
        rows = await ostler.database.read(lambda connection: intervals_of(connection, [instance_id]))
        [upstream_id] = home.ever_billed()
        billed = home.simulated.world.ledger[upstream_id].spans
        told = (await ostler.events(instance_id))[-1]
    assert all(row.interval.to_at is not None for row in rows)
    compute_s = sum(
        (row.interval.to_at - row.interval.from_at).total_seconds()
        for row in rows
        if row.interval.to_at is not None and row.interval.price_per_hour.units == 35_000
    )
    billed_s = sum(span.end - span.start for span in billed if span.has_gpu and span.end is not None)
    # both ends of each of three stretches are known to within a look
    assert compute_s == pytest.approx(billed_s, abs=18)
    assert float(str(told.details["cost"])) == pytest.approx(compute_s * 0.35 / 3600, abs=0.001)


async def test_a_second_start_is_expected_to_take_as_long_as_the_last_ones() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        for number in range(5):
            accepted = await ostler.accept(a_wish(f"warm-{number}"))
            await ostler.until(accepted.instance_id, State.RUNNING)
        began = ostler.clock.now()
        accepted = await ostler.accept(a_wish("expected"))
        assert accepted.estimated_ready_at is not None
        assert 10 < (accepted.estimated_ready_at - began).total_seconds() < 30
        target = ById(accepted.instance_id)
        await ostler.until(target.instance_id, State.RUNNING)
        await ostler.verbs.stop(target, SOMEBODY)
        await ostler.until(target.instance_id, State.EXITED)
        began = ostler.clock.now()
        started = await ostler.verbs.start(target, SOMEBODY, StartRequest(), HealthPolicy())
        assert 10 < (await ostler.verbs.expected_ready_at(started) - began).total_seconds() < 30


async def test_usable_is_told_once_per_start_and_the_first_readiness_is_kept() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        events = await ostler.events(instance_id := await _live(ostler))
        instance = await ostler.instance(instance_id)
    usable = [event for event in events if event.name is PublicEvent.USABLE]
    assert len(usable) == instance.starts == 3
    assert instance.first_ready_at == usable[0].at
    assert instance.ready_at == usable[-1].at
