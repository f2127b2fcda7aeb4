"""Outages of the pretend cloud: what the breakers keep from it, what passes them, how they close again.

In process and in virtual time; the calls that the cloud really got are counted.
"""

import asyncio

import pytest

from ostler.cloud.breaker import BreakerState
from ostler.cloud.lane import Lane
from ostler.cloud.refusals import Ambiguous, CircuitOpen, Unavailable
from ostler.cloud.request import Kind
from ostler.simulator.faults import Fault
from tests.support.cloud import LoopClock, an_order
from tests.support.faulty_cloud import CREATE, LIST, USER, a_setting, refusal_of
from tests.support.simulator import (
    no_capacity,
    rate_limited,
    refused,
    server_error,
    slow,
    timeout_after_effect,
)


@pytest.mark.looptime
async def test_creates_that_stay_unanswered_stop_further_creates_and_nothing_else() -> None:
    setting = a_setting()
    upstream_id = await setting.running()
    setting.simulated.next_call("*/create", server_error(503), times=3)
    for _ in range(3):
        assert isinstance(await refusal_of(setting.cloud.create(an_order())), Ambiguous)
    before = setting.calls(CREATE)
    assert isinstance(await refusal_of(setting.cloud.create(an_order())), CircuitOpen)
    assert setting.calls(CREATE) == before
    assert (await setting.cloud.get(upstream_id, lane=USER)).id == upstream_id
    await setting.cloud.stop(upstream_id)


@pytest.mark.looptime
async def test_after_an_outage_one_probe_closes_the_breaker() -> None:
    setting = a_setting(attempts=2)
    setting.simulated.next_call("GET *", server_error(502), times=4)
    for _ in range(2):
        assert isinstance(await refusal_of(setting.cloud.list_all()), Unavailable)
    assert setting.state_of(Kind.READ) is BreakerState.OPEN
    await LoopClock().sleep(61)
    before = setting.calls(LIST)
    setting.simulated.next_call("GET *", slow(1))
    results = await asyncio.gather(*(refusal_of(setting.cloud.list_all()) for _ in range(50)))
    assert results.count(None) == 1
    assert sum(isinstance(result, CircuitOpen) for result in results) == 49
    assert setting.calls(LIST) == before + 1
    assert setting.state_of(Kind.READ) is BreakerState.CLOSED


@pytest.mark.looptime
async def test_a_users_stop_and_the_look_up_after_a_create_go_past_an_open_breaker() -> None:
    setting = a_setting(attempts=1)
    upstream_id = await setting.running()
    setting.simulated.next_call("*", server_error(503), times=2)
    await refusal_of(setting.cloud.list_all())
    await refusal_of(setting.cloud.restart(upstream_id))
    assert setting.state_of(Kind.READ) is setting.state_of(Kind.WRITE) is BreakerState.OPEN
    assert isinstance(await refusal_of(setting.cloud.stop(upstream_id, lane=Lane.BACKGROUND)), CircuitOpen)
    assert isinstance(await refusal_of(setting.cloud.get(upstream_id, lane=USER)), CircuitOpen)
    await setting.cloud.stop(upstream_id)
    assert (await setting.cloud.find_by_name("demo")).is_complete
    assert setting.state_of(Kind.READ) is setting.state_of(Kind.WRITE) is BreakerState.CLOSED


@pytest.mark.looptime
@pytest.mark.parametrize(
    "fault",
    [rate_limited(), no_capacity(), refused("BALANCE_NOT_ENOUGH"), refused("X", 403)],
    ids=lambda fault: fault.kind,
)
async def test_refusals_never_open_a_breaker(fault: Fault) -> None:
    setting = a_setting(attempts=1)
    setting.simulated.next_call("*/create", fault, times=10)
    for _ in range(10):
        assert await refusal_of(setting.cloud.create(an_order())) is not None
    assert setting.state_of(Kind.CREATE) is BreakerState.CLOSED


@pytest.mark.looptime
async def test_a_cancelled_create_leaves_no_slot_taken() -> None:
    setting = a_setting()
    setting.simulated.next_create(timeout_after_effect())
    call = asyncio.create_task(setting.cloud.create(an_order()))
    await asyncio.wait({call}, timeout=1)
    call.cancel()
    await asyncio.wait({call})
    assert setting.transport.lanes().in_flight[USER] == 0
    assert await setting.cloud.create(an_order("another"))
