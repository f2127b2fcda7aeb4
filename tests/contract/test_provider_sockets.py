"""Faults that only a socket can commit, over real HTTP: resets, silence, half an answer, nobody there.

The ledger and the call counts of the pretend cloud say what really happened, whatever the answer was.
"""

import asyncio
import socket
from collections.abc import Callable

import pytest
from pydantic import SecretStr

from ostler.clock import SystemClock
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.refusals import Ambiguous, Unavailable
from ostler.cloud.transport import Transport, TransportConfig
from ostler.simulator.faults import Fault
from tests.support.cloud import an_order
from tests.support.faulty_cloud import CREATE, LIST, over_http, refusal_of
from tests.support.simulator import (
    API_KEY,
    malformed_answer,
    reset_after_effect,
    reset_before_effect,
    slow,
    timeout_after_effect,
    timeout_before_effect,
)

SOCKET_FAULTS: list[tuple[Callable[[], Fault], int]] = [
    (timeout_after_effect, 1),
    (timeout_before_effect, 0),
    (reset_after_effect, 1),
    (reset_before_effect, 0),
    (malformed_answer, 1),
]


@pytest.mark.parametrize(
    ("fault", "effects"), SOCKET_FAULTS, ids=lambda value: getattr(value, "__name__", value)
)
async def test_over_a_socket_a_lost_create_is_ambiguous_and_sent_once(
    fault: Callable[[], Fault], effects: int
) -> None:
    async with over_http(timeout_s=0.5) as setting:
        setting.simulated.next_create(fault())
        assert isinstance(await refusal_of(setting.cloud.create(an_order())), Ambiguous)
        assert (setting.calls(CREATE), setting.effects()) == (1, effects)
        assert (await setting.cloud.find_by_name("demo")).is_complete


@pytest.mark.parametrize("fault", [reset_before_effect, timeout_before_effect])
async def test_over_a_socket_a_lost_read_is_repeated(fault: Callable[[], Fault]) -> None:
    async with over_http(timeout_s=0.5) as setting:
        setting.simulated.next_call("*/gpu/instances", fault())
        assert (await setting.cloud.list_all()).is_complete
        assert setting.calls(LIST) == 2


async def test_a_cloud_that_is_not_there_is_unavailable_and_a_create_was_not_sent() -> None:
    with socket.socket() as kept:  # nobody else gets the port, and nobody listens there
        kept.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{kept.getsockname()[1]}"
        transport = Transport(
            TransportConfig(url, SecretStr(API_KEY), max_attempts=1, per_minute=0), SystemClock()
        )
        refusal = await refusal_of(NovitaCloud(transport).create(an_order()))
        await transport.aclose()
    assert type(refusal) is Unavailable


async def test_a_hundred_cancelled_calls_leave_the_pool_whole() -> None:
    async with over_http(timeout_s=5) as setting:
        setting.simulated.share_of_calls("GET *", slow(0.2), 0.5)
        calls = [asyncio.create_task(setting.cloud.list_page(0)) for _ in range(100)]
        await asyncio.wait(calls, timeout=0.1)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        setting.simulated.all_is_well()
        pages = await asyncio.gather(*(setting.cloud.list_page(0) for _ in range(40)))
        assert len(pages) == 40
        assert set(setting.transport.lanes().in_flight.values()) == {0}
