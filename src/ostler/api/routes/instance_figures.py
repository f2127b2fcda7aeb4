"""Figures of one instance: what it has cost, and how busy its GPUs are.

Costs come from our own ledger at once; GPU use is asked of the cloud, which alone knows.
"""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from ostler.api.backing import WithPatience
from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Dollars, Identifier, Instant
from ostler.cloud.upstream import UseSample
from ostler.domain.ledger import IntervalSource, IntervalState
from ostler.domain.money import Usd
from ostler.store.ledger import LedgerRow

router = APIRouter(prefix="/api/instances/{instance_id}", tags=["instances"])


class IntervalAnswer(Answer):
    """A stretch of time at one price; `uncertaintySeconds` is by how much its bounds may be wrong.

    One of another `novitaInstanceId` than the instance's is of an upstream that it had before, or of a
    duplicate that was removed.
    """

    novita_instance_id: str
    state: IntervalState
    price_per_hour: Dollars
    from_: Instant = Field(alias="from")
    to: Instant | None
    cost: Dollars
    source: IntervalSource
    uncertainty_seconds: float


class CostAnswer(Answer):
    """What an instance has cost so far, and costs now."""

    instance_id: str
    at: Instant
    cost_so_far: Dollars
    cost_per_hour: Dollars
    intervals: list[IntervalAnswer]


class SampleAnswer(Answer):
    """One measurement."""

    at: Instant
    percent: float


class GpuUseAnswer(Answer):
    """How busy the GPUs were."""

    instance_id: str
    compute: list[SampleAnswer]
    memory: list[SampleAnswer]


@router.get("/cost", summary="What an instance has cost")
async def cost(instance_id: Identifier, on: Exchange) -> CostAnswer:
    found = await on.instances.costs.of_instance(instance_id, on.asker)
    return CostAnswer(
        instance_id=instance_id,
        at=found.at,
        cost_so_far=found.so_far.amount,
        cost_per_hour=found.per_hour.amount,
        intervals=[_interval(row, price) for row, price in found.intervals],
    )


@router.get("/metrics", summary="How busy the GPUs are")
async def gpu_use(
    instance_id: Identifier,
    on: Exchange,
    patience: WithPatience,
    minutes: Annotated[int, Query(ge=1, le=1440)] = 60,
) -> GpuUseAnswer:
    asking = on.instances.gpus.of_instance(instance_id, on.asker, timedelta(minutes=minutes))
    found = await patience.in_time("gpu_use", asking)
    return GpuUseAnswer(
        instance_id=instance_id,
        compute=[_sample(each) for each in found.compute],
        memory=[_sample(each) for each in found.memory],
    )


def _interval(row: LedgerRow, cost: Usd) -> IntervalAnswer:
    interval = row.interval
    return IntervalAnswer(
        novita_instance_id=row.upstream_id,
        state=interval.state,
        price_per_hour=interval.price_per_hour.amount,
        **{"from": interval.from_at},
        to=interval.to_at,
        cost=cost.amount,
        source=interval.source,
        uncertainty_seconds=interval.uncertainty.total_seconds(),
    )


def _sample(found: UseSample) -> SampleAnswer:
    return SampleAnswer(at=found.at, percent=found.percent)
