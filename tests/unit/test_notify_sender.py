"""The sending loop in virtual time: schedule, order, leases, deaths; no network."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from itertools import pairwise

import pytest
from pydantic import SecretStr

from ostler.notify.endpoints import Webhooks
from ostler.notify.keyring import Keyring
from ostler.notify.outbound import Reply
from ostler.notify.signing import Message, signed_headers
from ostler.store.sealing import FernetSealer
from ostler.store.webhook_deliveries import DeliveryStatus
from ostler.store.webhook_endpoints import EndpointRow, Origin, put_endpoint
from tests.support.cloud import EPOCH
from tests.support.webhook_world import (
    BROKEN,
    KEYRING,
    LEASE_S,
    SECRET,
    SELDOM,
    TAKEN,
    World,
    always,
    making_world,
)

pytestmark = pytest.mark.looptime


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with making_world() as world:
        yield world


async def test_what_is_told_is_sent_at_once_and_signed(world: World) -> None:
    await world.start(always(TAKEN))
    await world.clock.sleep(100)
    began = world.clock.monotonic()
    await world.tell("ready")
    await world.clock.sleep(1)
    (call,) = world.calls
    assert call.at - began < 0.1
    assert (call.url, call.body, call.message_id) == ("https://a.example/", b'"ready"', "msg_ready")
    at = EPOCH + timedelta(seconds=call.at)
    expected = signed_headers(Message("msg_ready", "ready", b'"ready"'), SECRET, at)
    assert call.headers["webhook-signature"] == expected["webhook-signature"]
    assert await world.statuses() == [DeliveryStatus.DELIVERED]


async def test_a_receiver_that_is_down_is_tried_by_the_schedule_until_three_days_have_passed(
    world: World,
) -> None:
    await world.start(always(BROKEN))
    await world.tell("ready")
    await world.clock.sleep(4 * 24 * 3600)
    waits = [round(later.at - earlier.at) for earlier, later in pairwise(world.calls)]
    assert waits == [5 * 2**doublings for doublings in range(14)] + [43_200] * 4
    assert {call.message_id for call in world.calls} == {"msg_ready"}
    (view,) = await world.deliveries()
    assert (view.status, view.attempts, len(view.log)) == (DeliveryStatus.FAILED, 19, 19)


async def test_each_attempt_is_signed_at_its_own_time(world: World) -> None:
    await world.start(always(BROKEN))
    await world.tell("ready")
    await world.clock.sleep(6)
    first, second = world.calls
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 5
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


async def test_events_of_an_instance_arrive_in_order_however_slow_the_receiver(world: World) -> None:
    await world.start(always(TAKEN, after_s=3))
    await world.start(always(TAKEN, after_s=3), "two")
    events = [f"e{number}" for number in range(8)]
    await world.tell(*events)
    await world.clock.sleep(60)
    assert world.sent() == events
    assert world.most_at_once == 1


async def test_a_stuck_head_lets_the_next_pass_after_a_minute(world: World) -> None:
    async def script(event: str) -> Reply:
        return BROKEN if event == "bad" else TAKEN

    await world.start(script)
    began = world.clock.monotonic()
    await world.tell("bad", "good", "better")
    await world.clock.sleep(300)
    passed = [call for call in world.calls if call.event != "bad"]
    assert [call.event for call in passed] == ["good", "better"]
    assert passed[0].at - began == pytest.approx(60, abs=0.5)
    assert passed[1].at - began == pytest.approx(60, abs=0.5)


async def test_a_head_that_recovers_within_the_minute_lets_the_rest_go_at_once(world: World) -> None:
    async def script(_: str) -> Reply:
        return BROKEN if len(world.calls) < 3 else TAKEN

    await world.start(script)
    await world.tell("first", "second")
    await world.clock.sleep(300)
    assert [(call.event, round(call.at)) for call in world.calls] == [
        ("first", 0),
        ("first", 5),
        ("first", 15),
        ("second", 15),
    ]


async def test_one_slow_receiver_takes_four_places_and_keeps_nobody_else_waiting(world: World) -> None:
    async def script(event: str) -> Reply:
        await world.clock.sleep(9 if event.startswith("slow") else 0)
        return TAKEN

    await world.start(script)
    for number in range(20):
        await world.tell(f"slow{number}", instance=f"i-{number}")
    await world.tell("quick", endpoint="b")
    await world.clock.sleep(1)
    assert sorted(world.sent()) == ["quick", "slow0", "slow1", "slow2", "slow3"]
    await world.clock.sleep(60)
    assert len(world.calls) == 21
    assert world.most_at_once == 5


async def test_a_process_sends_sixty_four_at_a_time(world: World) -> None:
    await world.start(always(TAKEN, after_s=5))
    for number in range(30):
        await world.tell(*("e1", "e2", "e3", "e4"), instance=None, endpoint=f"r{number}")
    await world.clock.sleep(30)
    assert len(world.calls) == 120
    assert world.most_at_once == 64


async def test_two_processes_share_the_work_and_send_nothing_twice(world: World) -> None:
    await world.start(always(TAKEN, after_s=2), "one")
    await world.start(always(TAKEN, after_s=2), "two")
    for number in range(60):
        await world.tell("e", instance=f"i-{number}", endpoint=f"r{number % 20}")
    await world.clock.sleep(300)
    assert len(world.calls) == 60
    assert {call.sender for call in world.calls} <= {"one", "two"}
    assert set(await world.statuses()) == {DeliveryStatus.DELIVERED}


async def test_a_process_that_dies_while_sending_is_followed_by_another_with_the_same_id(
    world: World,
) -> None:
    doomed = await world.start(always(TAKEN, after_s=8), "doomed")
    await world.tell("ready")
    await world.clock.sleep(1)
    await world.kill(doomed)
    await world.start(always(TAKEN), "successor")
    await world.clock.sleep(7 * 3600)
    assert [(call.sender, call.message_id) for call in world.calls] == [
        ("doomed", "msg_ready"),
        ("successor", "msg_ready"),
    ]
    assert world.calls[1].at - world.calls[0].at >= LEASE_S
    assert await world.statuses() == [DeliveryStatus.DELIVERED]


async def test_a_process_that_slept_after_its_claim_does_not_begin_to_send(world: World) -> None:
    """Its lease might end during the attempt, and another process would send at the same time."""
    await world.start(always(TAKEN), "drowsy")
    await world.clock.sleep(1)
    row = EndpointRow("a", Origin.REGISTERED, "https://a.example/", EPOCH)
    await world.database.write(partial(put_endpoint, endpoint=row))
    world.database.pause_s = 20
    telling = asyncio.create_task(world.tell("ready"))
    await world.clock.sleep(60)
    assert world.calls == []
    world.database.pause_s = 0
    await telling
    await world.clock.sleep(2 * SELDOM.total_seconds())
    assert world.sent() == ["ready"]


async def test_on_a_database_of_its_own_a_restart_sends_again_at_once(world: World) -> None:
    doomed = await world.start(always(TAKEN, after_s=8), "doomed")
    await world.tell("ready")
    await world.clock.sleep(1)
    await world.kill(doomed)
    await world.start(always(TAKEN), "successor", is_exclusive=True)
    await world.clock.sleep(1)
    assert [call.sender for call in world.calls] == ["doomed", "successor"]
    assert world.calls[1].at < 3


async def test_a_graceful_stop_lets_arrive_what_is_nearly_there_and_hands_back_the_rest(world: World) -> None:
    async def script(event: str) -> Reply:
        await world.clock.sleep(2 if event == "near" else 9)
        return TAKEN

    sender = await world.start(script)
    await world.tell("near", instance="i-1")
    await world.tell("far", instance="i-2")
    await world.clock.sleep(1)
    _, task = world.processes[0]
    task.cancel()
    began = world.clock.monotonic()
    await sender.drain(timedelta(seconds=4))
    assert world.clock.monotonic() - began == pytest.approx(4, abs=0.5)
    assert await world.statuses() == [DeliveryStatus.DELIVERED, DeliveryStatus.WAITING]


async def test_a_result_waits_for_a_database_that_is_away_and_is_not_sent_again(world: World) -> None:
    await world.start(always(TAKEN, after_s=2))
    await world.tell("ready")
    await world.clock.sleep(1)
    world.storage.is_away = True
    await world.clock.sleep(10)
    world.storage.is_away = False
    await world.clock.sleep(60)
    assert world.sent() == ["ready"]
    assert await world.statuses() == [DeliveryStatus.DELIVERED]


async def test_a_loop_goes_on_when_the_database_comes_back(world: World) -> None:
    await world.start(always(TAKEN))
    await world.clock.sleep(1)
    await world.tell("ready")
    world.storage.is_away = True
    await world.clock.sleep(30)
    world.storage.is_away = False
    await world.clock.sleep(SELDOM.total_seconds())
    assert world.sent() == ["ready"]


async def test_a_replay_goes_out_at_once_with_the_same_id_and_body(world: World) -> None:
    await world.start(always(TAKEN))
    await world.tell("ready")
    await world.clock.sleep(1)
    (view,) = await world.deliveries()
    await Webhooks(world.database, KEYRING, world.clock).replay(view.id)
    await world.clock.sleep(1)
    first, second = world.calls
    assert (first.message_id, first.body) == (second.message_id, second.body)
    (view,) = await world.deliveries()
    assert (view.status, view.attempts) == (DeliveryStatus.DELIVERED, 2)


async def test_what_cannot_be_signed_is_not_sent_and_says_why(world: World) -> None:
    await world.start(always(TAKEN))
    foreign = Keyring(FernetSealer(SecretStr("another key"))).sealed(SECRET)
    row = EndpointRow("a", Origin.REGISTERED, "https://a.example/", EPOCH, secret=foreign)
    await world.database.write(partial(put_endpoint, endpoint=row))
    await world.tell("ready")
    await world.clock.sleep(1)
    assert world.calls == []
    (view,) = await world.deliveries()
    assert view.status is DeliveryStatus.WAITING
    assert "cannot be signed" in (view.log[0].error or "")


async def test_a_defect_in_sending_is_survived(world: World) -> None:
    async def script(event: str) -> Reply:
        if event == "cursed" and len(world.calls) == 1:
            raise ZeroDivisionError
        return TAKEN

    await world.start(script)
    await world.tell("cursed", instance="i-1")
    await world.clock.sleep(1)
    await world.tell("blessed", instance="i-2")
    await world.clock.sleep(2 * LEASE_S)
    assert "blessed" in world.sent()
    await world.clock.sleep(2 * SELDOM.total_seconds())
    assert world.sent() == ["cursed", "blessed", "cursed"]
