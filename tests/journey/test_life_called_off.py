"""Creates that their owner stops before anything was placed: nothing is rented, nothing is billed."""

from dataclasses import replace

import pytest

from ostler.domain.failures import FailureCode
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind, Outcome
from ostler.domain.phases import CreatingPhase
from ostler.domain.spec import InstanceSpec
from ostler.simulator.faults import Fault
from ostler.store.operations import operations_of
from ostler.usecases.asking import ById
from tests.support.core import SOMEBODY, Ostler, a_wish, an_installation
from tests.support.simulator import late_in_lists, timeout_after_effect, timeout_before_effect

pytestmark = pytest.mark.looptime

_WITHOUT_STOCK = replace(a_wish(product_name="RTX 6000 Ada 48GB"), retry_until_available=True)


async def _kinds(ostler: Ostler, instance_id: str) -> list[tuple[OperationKind, Outcome | None]]:
    rows = await ostler.database.read(lambda connection: operations_of(connection, instance_id))
    return [(row.operation.kind, row.operation.outcome) for row in reversed(rows)]


@pytest.mark.parametrize(
    ("spec", "faults", "phase", "within_s"),
    [
        (_WITHOUT_STOCK, (), CreatingPhase.WAITING_FOR_STOCK, 4),
        (a_wish(), (timeout_before_effect(),), CreatingPhase.ADOPTING, 120),
    ],
    ids=["it waits for stock", "its call was lost"],
)
async def test_a_stop_before_anything_is_placed_ends_the_create_and_rents_nothing(
    spec: InstanceSpec, faults: tuple[Fault, ...], phase: CreatingPhase, within_s: float
) -> None:
    async with an_installation() as home:
        ostler = await home.process()
        for fault in faults:
            home.simulated.next_create(fault)
        accepted = await ostler.accept(spec)
        target = ById(accepted.instance_id)
        await ostler.clock.sleep(12)
        assert (await ostler.instance(target.instance_id)).phase is phase
        await ostler.verbs.stop(target, SOMEBODY)
        failed = await ostler.until(target.instance_id, State.FAILED, within_s=within_s)
        await ostler.clock.sleep(600)
        assert home.ever_billed() == []
        assert failed.error is not None
        assert failed.error.code is FailureCode.CREATE_CALLED_OFF
        assert not failed.error.still_billed
        assert await _kinds(ostler, target.instance_id) == [
            (OperationKind.CREATE, Outcome.SUPERSEDED),
            (OperationKind.STOP, Outcome.SUCCEEDED),
        ]
        again = await ostler.verbs.stop(target, SOMEBODY)
        assert not again.is_new


async def test_a_stop_during_an_ambiguous_create_stops_what_the_cloud_made() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(late_in_lists(20))
        home.simulated.next_create(timeout_after_effect())
        accepted = await ostler.accept(a_wish())
        await ostler.clock.sleep(5)
        await ostler.verbs.stop(ById(accepted.instance_id), SOMEBODY)
        exited = await ostler.until(accepted.instance_id, State.EXITED)
        assert home.alive() == [exited.upstream_id]
