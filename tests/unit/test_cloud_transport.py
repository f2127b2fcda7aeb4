"""The transport on a scripted network in virtual time: what is repeated, when, and what never is."""

import asyncio
import itertools
from datetime import timedelta
from email.utils import format_datetime

import httpx2
import pytest

from ostler.cloud.lane import Lane
from ostler.cloud.observer import Outcome
from ostler.cloud.refusals import Ambiguous, RateLimited, Unavailable
from ostler.cloud.request import Kind
from tests.support.cloud import (
    CallLog,
    LoopClock,
    ScriptedNetwork,
    a_config,
    a_request,
    a_transport,
    answer,
)

pytestmark = pytest.mark.looptime
WRITES = [Kind.CREATE, Kind.WRITE]
NO_CONNECTION = httpx2.ConnectError("refused")
RESET = httpx2.ReadError("reset")


async def never(_: httpx2.Request) -> httpx2.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def test_an_answer_comes_back_with_the_instant_its_request_began() -> None:
    async def slowly(_: httpx2.Request) -> httpx2.Response:
        await LoopClock().sleep(3)
        return answer(200, {"ok": True})

    transport = a_transport(ScriptedNetwork([slowly]))
    began_at = LoopClock().now()
    reply = await transport.send(a_request())
    assert (reply.status, reply.body, reply.began_at) == (200, b'{"ok":true}', began_at)


@pytest.mark.parametrize(
    "trouble",
    [
        answer(500),
        answer(502),
        answer(503),
        answer(504),
        NO_CONNECTION,
        RESET,
        httpx2.RemoteProtocolError("cut"),
    ],
    ids=repr,
)
async def test_a_read_is_repeated_until_it_succeeds(trouble: httpx2.Response | Exception) -> None:
    network = ScriptedNetwork([trouble, trouble, answer()])
    log = CallLog()
    reply = await a_transport(network, observer=log).send(a_request(Kind.READ))
    assert reply.status == 200
    assert log.outcomes == [Outcome.UNAVAILABLE, Outcome.UNAVAILABLE, Outcome.ANSWERED]
    assert log.retries == ["a_read", "a_read"]


async def test_a_read_gives_up_after_its_attempts() -> None:
    network = ScriptedNetwork([answer(503)])
    with pytest.raises(Unavailable, match="status 503"):
        await a_transport(network, a_config(attempts=4)).send(a_request(Kind.READ))
    assert len(network.requests) == 4


async def test_waits_between_attempts_double_from_one_second_to_thirty_with_full_jitter() -> None:
    ceilings = [1, 2, 4, 8, 16, 30, 30, 30, 30]
    longest = [0.0] * len(ceilings)
    for _ in range(30):
        network = ScriptedNetwork([answer(503)])
        with pytest.raises(Unavailable):
            await a_transport(network, a_config(attempts=10)).send(a_request(Kind.READ))
        waits = [later - earlier for earlier, later in itertools.pairwise(network.instants)]
        assert all(0 <= wait <= ceiling + 0.001 for wait, ceiling in zip(waits, ceilings, strict=True))
        longest = [max(pair) for pair in zip(longest, waits, strict=True)]
    assert all(seen > ceiling / 2 for seen, ceiling in zip(longest, ceilings, strict=True))


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize(
    "trouble",
    [
        answer(500),
        answer(502),
        answer(503),
        answer(504),
        RESET,
        httpx2.RemoteProtocolError("cut"),
        httpx2.WriteError("pipe"),
    ],
    ids=repr,
)
async def test_a_write_without_an_answer_is_ambiguous_and_never_repeated(
    kind: Kind, trouble: httpx2.Response | Exception
) -> None:
    network = ScriptedNetwork([trouble, answer()])
    log = CallLog()
    with pytest.raises(Ambiguous):
        await a_transport(network, observer=log).send(a_request(kind))
    assert len(network.requests) == 1
    assert log.outcomes == [Outcome.AMBIGUOUS]


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize(
    "trouble",
    [NO_CONNECTION, httpx2.ConnectTimeout("slow"), httpx2.PoolTimeout("full"), answer(429)],
    ids=repr,
)
async def test_a_write_that_was_provably_not_executed_is_repeated(
    kind: Kind, trouble: httpx2.Response | Exception
) -> None:
    network = ScriptedNetwork([trouble, trouble, answer()])
    assert (await a_transport(network).send(a_request(kind))).status == 200
    assert len(network.requests) == 3


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409])
async def test_a_refusal_is_an_answer_and_not_repeated(kind: Kind, status: int) -> None:
    network = ScriptedNetwork([answer(status, {"reason": "X"})])
    assert (await a_transport(network).send(a_request(kind))).status == status
    assert len(network.requests) == 1


async def test_a_call_that_lasts_too_long_is_cut_off() -> None:
    network = ScriptedNetwork([never])
    began = asyncio.get_running_loop().time()
    with pytest.raises(Ambiguous, match="no answer within 5 s"):
        await a_transport(network, a_config(timeout_s=5)).send(a_request(Kind.CREATE))
    assert asyncio.get_running_loop().time() - began == pytest.approx(5)


async def test_a_read_that_lasts_too_long_is_tried_again() -> None:
    network = ScriptedNetwork([never, answer()])
    assert (await a_transport(network, a_config(timeout_s=5)).send(a_request(Kind.READ))).status == 200


async def test_retry_after_in_seconds_is_waited_for() -> None:
    network = ScriptedNetwork([answer(429, headers={"Retry-After": "20"}), answer()])
    await a_transport(network).send(a_request())
    assert 20 <= network.instants[1] - network.instants[0] <= 21.001


async def test_retry_after_as_a_date_is_waited_for() -> None:
    then = format_datetime(LoopClock().now() + timedelta(seconds=20), usegmt=True)
    network = ScriptedNetwork([answer(429, headers={"Retry-After": then}), answer()])
    await a_transport(network).send(a_request())
    assert 19 <= network.instants[1] - network.instants[0] <= 21.001


async def test_retry_after_of_an_overloaded_cloud_is_waited_for() -> None:
    network = ScriptedNetwork([answer(503, headers={"Retry-After": "7"}), answer()])
    await a_transport(network).send(a_request())
    assert 7 <= network.instants[1] - network.instants[0] <= 8.001


async def test_a_long_retry_after_is_handed_to_the_caller() -> None:
    network = ScriptedNetwork([answer(429, headers={"Retry-After": "90"})])
    with pytest.raises(RateLimited) as refusal:
        await a_transport(network).send(a_request())
    assert refusal.value.retry_after_s == 90
    assert len(network.requests) == 1


async def test_a_date_that_no_clock_can_hold_makes_no_answer_an_error() -> None:
    network = ScriptedNetwork([answer(200, headers={"Date": "Sun, 01 Mar 2026 12:00:30 +99999999999999"})])
    transport = a_transport(network)
    assert (await transport.send(a_request(Kind.CREATE))).status == 200
    assert transport.clock_skew_s() is None


async def test_one_429_silences_all_calls_for_as_long_as_it_asks() -> None:
    network = ScriptedNetwork([answer(429, headers={"Retry-After": "25"}), answer()])
    transport = a_transport(network)
    first = asyncio.create_task(transport.send(a_request(lane=Lane.BACKGROUND)))
    await asyncio.wait({first}, timeout=1)
    await transport.send(a_request(lane=Lane.USER))
    await first
    assert all(at - network.instants[0] >= 25 for at in network.instants[1:])
