"""The transport on a scripted network in virtual time: breakers, turns, and what can be seen."""

import asyncio
from datetime import timedelta

import httpx2
import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostler.cloud.breaker import BreakerState
from ostler.cloud.lane import Lane
from ostler.cloud.observer import Outcome
from ostler.cloud.refusals import Ambiguous, CircuitOpen, RateLimited, TooLate, Unavailable
from ostler.cloud.request import Kind, Request
from ostler.cloud.transport import Transport
from ostler.telemetry.trail import Trail
from tests.support.cloud import (
    API_KEY,
    CallLog,
    LoopClock,
    ScriptedNetwork,
    a_config,
    a_request,
    a_transport,
    answer,
)

pytestmark = pytest.mark.looptime


async def never(_: httpx2.Request) -> httpx2.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def test_operations_that_stay_unavailable_open_the_breaker_of_their_kind_only() -> None:
    network = ScriptedNetwork([answer(503)])
    transport = a_transport(network, a_config(attempts=3))
    for _ in range(3):
        with pytest.raises(Unavailable):
            await transport.send(a_request(Kind.READ))
    assert len(network.requests) == 9  # three operations, each with its attempts
    states = {kind: seen.state for kind, seen in transport.breakers().items()}
    assert states == {
        Kind.READ: BreakerState.OPEN,
        Kind.CREATE: BreakerState.CLOSED,
        Kind.WRITE: BreakerState.CLOSED,
    }


async def opened(network: ScriptedNetwork, kind: Kind, log: CallLog | None = None) -> Transport:
    transport = a_transport(network, a_config(attempts=1), log)
    with pytest.raises((Unavailable, Ambiguous)):
        await transport.send(a_request(kind))
    return transport


async def test_an_open_breaker_refuses_at_once_without_a_call() -> None:
    network = ScriptedNetwork([answer(503), answer()])
    log = CallLog()
    transport = await opened(network, Kind.READ, log)
    with pytest.raises(CircuitOpen) as refusal:
        await transport.send(a_request(Kind.READ))
    assert len(network.requests) == 1
    assert log.outcomes[-1] is Outcome.CIRCUIT_OPEN
    assert (refusal.value.next_try_at - LoopClock().now()).total_seconds() == pytest.approx(60)


async def test_the_breaker_closes_again_by_its_probe() -> None:
    network = ScriptedNetwork([answer(503), answer()])
    transport = await opened(network, Kind.READ)
    await LoopClock().sleep(61)
    assert (await transport.send(a_request(Kind.READ))).status == 200
    assert transport.breakers()[Kind.READ].state is BreakerState.CLOSED


async def test_a_probe_is_a_single_call() -> None:
    network = ScriptedNetwork([answer(503)])
    transport = a_transport(network, a_config(attempts=3))
    for _ in range(3):
        with pytest.raises(Unavailable):
            await transport.send(a_request(Kind.READ))
    await LoopClock().sleep(61)
    with pytest.raises(Unavailable):
        await transport.send(a_request(Kind.READ))
    assert len(network.requests) == 9 + 1


async def test_an_urgent_write_goes_past_an_open_breaker() -> None:
    network = ScriptedNetwork([answer(503), answer()])
    transport = await opened(network, Kind.WRITE)
    assert (await transport.send(a_request(Kind.WRITE, is_urgent=True))).status == 200
    assert transport.breakers()[Kind.WRITE].state is BreakerState.CLOSED


async def test_429_never_opens_a_breaker() -> None:
    network = ScriptedNetwork([answer(429, headers={"Retry-After": "60"})])
    transport = a_transport(network, a_config(attempts=1))
    for _ in range(5):
        with pytest.raises(RateLimited):
            await transport.send(a_request(Kind.READ))
    assert transport.breakers()[Kind.READ].state is BreakerState.CLOSED


async def test_a_request_whose_time_is_over_is_not_sent() -> None:
    network = ScriptedNetwork([answer()])
    log = CallLog()
    transport = a_transport(network, a_config(per_minute=5), log)
    await transport.send(a_request())  # spends the burst of one
    soon = LoopClock().now() + timedelta(seconds=1)
    late = Request("late", Kind.CREATE, Lane.USER, "POST", "/path", not_after=soon)
    with pytest.raises(TooLate):
        await transport.send(late)
    assert len(network.requests) == 1
    assert log.outcomes[-1] is Outcome.TOO_LATE


async def test_the_wait_for_a_turn_is_told_apart_from_the_call() -> None:
    async def slowly(_: httpx2.Request) -> httpx2.Response:
        await LoopClock().sleep(2)
        return answer()

    log = CallLog()
    transport = a_transport(ScriptedNetwork([slowly]), a_config(per_minute=5), log)
    await transport.send(a_request())
    await transport.send(a_request())
    assert log.seconds == pytest.approx([2, 2], abs=0.01)
    assert log.waits == pytest.approx([0, 60 / 4 - 2], abs=0.01)


async def test_a_cancelled_call_leaves_nothing_behind() -> None:
    log = CallLog()
    transport = a_transport(ScriptedNetwork([never]), a_config(max_calls=1), log)
    call = asyncio.create_task(transport.send(a_request()))
    await asyncio.wait({call}, timeout=1)
    assert transport.lanes().in_flight[Lane.USER] == 1
    call.cancel()
    await asyncio.wait({call})
    assert log.outcomes == [Outcome.CANCELLED]
    assert transport.lanes().in_flight[Lane.USER] == 0


async def test_cancelled_reads_neither_open_nor_close_a_breaker() -> None:
    transport = a_transport(ScriptedNetwork([never]), a_config(attempts=1))
    for _ in range(3):
        call = asyncio.create_task(transport.send(a_request()))
        await asyncio.wait({call}, timeout=1)
        call.cancel()
        await asyncio.wait({call})
    assert transport.breakers()[Kind.READ].failures_in_a_row == 0


async def test_the_key_and_the_correlation_id_travel_in_headers() -> None:
    network = ScriptedNetwork([answer()])
    transport = Transport(a_config(), LoopClock(), network=network.transport())
    with structlog.contextvars.bound_contextvars(correlation_id="corr-7"):
        await transport.send(a_request(Kind.WRITE))
    headers = network.requests[0].headers
    assert headers["Authorization"] == f"Bearer {API_KEY}"
    assert headers["X-Correlation-Id"] == "corr-7"
    assert headers["Content-Type"] == "application/json"


async def test_no_secret_is_in_any_repr_or_error() -> None:
    secret = "body-canary-value"
    request = Request("op", Kind.WRITE, Lane.USER, "POST", "/p", query={"q": secret}, body={"envs": secret})
    transport = a_transport(ScriptedNetwork([answer(500)]))
    with pytest.raises(Ambiguous) as refusal:
        await transport.send(request)
    shown = f"{refusal.value!r} {refusal.value} {request!r} {a_config()!r} {refusal.value.__cause__!r}"
    assert secret not in shown
    assert API_KEY not in shown


async def test_each_call_is_a_span_without_its_query() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    network = ScriptedNetwork([answer(503), answer()])
    transport = Transport(a_config(), LoopClock(), trail=Trail(provider), network=network.transport())
    await transport.send(
        Request("list_things", Kind.READ, Lane.WATCHER, "GET", "/things", query={"k": "canary"})
    )
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["cloud list_things"] * 2
    assert "canary" not in str([dict(span.attributes or {}) for span in spans])
    assert (spans[1].attributes or {})["http.response.status_code"] == 200
    assert (spans[1].attributes or {})["ostler.attempt"] == 2
    told = [request.headers["traceparent"] for request in network.requests]
    assert [each[:53] for each in told] == [
        f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-" for span in spans
    ]
