"""The table of deliveries: what is due, who may send it, in which order; on SQLite and PostgreSQL alike."""

import asyncio
from datetime import timedelta

import pytest

from ostler.notify.claims import claim
from ostler.notify.outbound import Reply
from ostler.store.database import Database
from ostler.store.webhook_deliveries import DeliveryStatus
from ostler.store.webhook_leases import Terms, hand_back, is_anything_to_do, next_due_in, rescue_all
from ostler.store.webhook_views import (
    find_delivery,
    replay,
)
from tests.support.deliveries import (
    BROKEN,
    HOPELESS,
    LOST_AT_ONCE,
    STUCK_AT_ONCE,
    TAKEN_WELL,
    TERMS,
    events_taken,
    recorded,
    register_two,
    shown,
    taken,
    the_only,
    told,
)


@pytest.fixture(autouse=True)
async def endpoints(database: Database) -> None:
    await register_two(database)


async def test_a_new_delivery_is_due_at_once_and_carries_what_it_was_given(database: Database) -> None:
    assert not await database.read(is_anything_to_do)
    await told(database, ("ready", "i-1"))
    assert await database.read(is_anything_to_do)
    (claimed,) = await taken(database)
    assert (claimed.endpoint_id, claimed.message_id, claimed.event) == ("a", "msg_ready", "ready")
    assert claimed.body == '{"event":"ready"}'
    assert not await database.read(is_anything_to_do)


async def test_what_is_being_sent_is_taken_by_nobody_else(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    assert await events_taken(database) == ["ready"]
    assert await events_taken(database) == []


async def test_claims_at_once_take_everything_exactly_once(database: Database) -> None:
    await told(database, *((f"e{number}", f"i-{number}") for number in range(12)))
    await told(database, *((f"f{number}", f"i-{number}") for number in range(12)), endpoint="b")
    ids: list[int] = []
    while await database.read(is_anything_to_do):
        rounds = await asyncio.gather(*(taken(database, 3) for _ in range(6)))
        claimed = [each for one in rounds for each in one]
        if not claimed:
            break
        ids += [each.id for each in claimed]
        await asyncio.gather(*(recorded(database, each, TAKEN_WELL) for each in claimed))
    assert len(ids) == len(set(ids)) == 24


async def test_an_endpoint_gets_four_at_a_time_whoever_sends(database: Database) -> None:
    await told(database, *((f"e{number}", f"i-{number}") for number in range(9)))
    await told(database, ("other", "i-1"), endpoint="b")
    first = [each for one in await asyncio.gather(*(taken(database) for _ in range(5))) for each in one]
    assert sorted(each.event for each in first) == ["e0", "e1", "e2", "e3", "other"]
    assert await events_taken(database) == []
    await recorded(database, next(each for each in first if each.event == "e2"), TAKEN_WELL)
    assert await events_taken(database) == ["e4"]


async def test_an_endpoint_that_is_full_does_not_hide_another(database: Database) -> None:
    await told(database, *((f"e{number}", f"i-{number}") for number in range(6)))
    await taken(database)
    await told(database, ("other", "i-1"), endpoint="b")
    assert await events_taken(database, room=1) == ["other"]


async def test_a_result_wakes_other_senders_for_what_it_let_go(database: Database) -> None:
    await told(database, ("first", "i-1"))
    (first,) = await taken(database)
    rung = asyncio.Event()
    database.signals.listen("webhooks", rung.set)
    await recorded(database, first, TAKEN_WELL)
    async with asyncio.timeout(10):
        await rung.wait()


async def test_no_more_is_taken_than_there_is_room_for(database: Database) -> None:
    await told(database, *((f"e{number}", f"i-{number}") for number in range(3)))
    await told(database, ("other", "i-1"), endpoint="b")
    assert len(await taken(database, 2)) == 2
    assert len(await taken(database, 0)) == 0


async def test_the_next_of_a_line_waits_until_the_one_before_was_taken(database: Database) -> None:
    await told(database, ("first", "i-1"), ("second", "i-1"), ("third", "i-1"), ("elsewhere", "i-2"))
    first, elsewhere = await taken(database)
    assert (first.event, elsewhere.event) == ("first", "elsewhere")
    assert await events_taken(database) == []
    await recorded(database, first, TAKEN_WELL)
    (second,) = await taken(database)
    assert second.event == "second"
    await recorded(database, second, TAKEN_WELL)
    assert await events_taken(database) == ["third"]


async def test_a_line_waits_a_minute_for_a_delivery_that_failed_and_not_longer(database: Database) -> None:
    await told(database, ("first", "i-1"), ("second", "i-1"))
    (first,) = await taken(database)
    await recorded(database, first, BROKEN)
    assert await events_taken(database) == []
    second, waiting = await shown(database)
    assert waiting.next_attempt_at is not None
    assert second.next_attempt_at is not None
    assert timedelta(seconds=30) < second.next_attempt_at - waiting.created_at <= timedelta(seconds=61)


async def test_a_stuck_head_lets_the_next_pass(database: Database) -> None:
    await told(database, ("first", "i-1"), ("second", "i-1"), ("third", "i-1"))
    (first,) = await taken(database, terms=STUCK_AT_ONCE)
    await recorded(database, first, BROKEN)
    assert await events_taken(database) == ["second"]
    assert await events_taken(database) == []


async def test_a_success_hurries_nobody_who_waits_after_a_failure(database: Database) -> None:
    await told(database, ("first", "i-1"), ("second", "i-1"), ("third", "i-1"))
    (first,) = await taken(database, terms=STUCK_AT_ONCE)
    await recorded(database, first, BROKEN)
    (second,) = await taken(database)
    await recorded(database, second, BROKEN)
    await database.write(lambda connection: replay(connection, first.id))
    (again,) = await taken(database)
    await recorded(database, again, TAKEN_WELL)
    assert again.id == first.id
    assert await events_taken(database) == []


async def test_lines_of_other_endpoints_and_news_of_no_instance_wait_for_nobody(database: Database) -> None:
    await told(database, ("first", "i-1"), ("low", None), ("lower", None))
    await told(database, ("first", "i-1"), endpoint="b")
    assert sorted(await events_taken(database)) == ["first", "first", "low", "lower"]


async def test_a_long_line_does_not_hide_others_behind_it(database: Database) -> None:
    await told(database, *((f"e{number}", "i-1") for number in range(70)), ("other", "i-2"))
    result = await database.write(lambda connection: claim(connection, 64, TERMS))
    assert [each.event for each in result.deliveries] == ["e0"]
    assert result.has_more
    assert await events_taken(database) == ["other"]


async def test_a_failed_attempt_is_noted_and_tried_again_five_seconds_later(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    (claimed,) = await taken(database)
    assert await recorded(database, claimed, BROKEN) is DeliveryStatus.WAITING
    view = await the_only(database)
    assert (view.status, view.attempts) == (DeliveryStatus.WAITING, 1)
    (attempt,) = view.log
    assert (attempt.status, attempt.latency_ms, attempt.error) == (500, 3, "HTTP 500")
    assert view.next_attempt_at == attempt.at + timedelta(seconds=5)
    due_in = await database.read(next_due_in)
    assert due_in is not None
    assert timedelta(0) < due_in <= timedelta(seconds=5)


async def test_a_receiver_may_ask_for_a_longer_wait(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    (claimed,) = await taken(database)
    await recorded(database, claimed, Reply(503, 3, "HTTP 503", retry_after_s=120))
    view = await the_only(database)
    assert view.next_attempt_at == view.log[0].at + timedelta(seconds=120)


async def test_a_delivery_is_given_up_when_its_time_is_over(database: Database) -> None:
    await told(database, ("first", "i-1"), ("second", "i-1"))
    (claimed,) = await taken(database, terms=HOPELESS)
    assert await recorded(database, claimed, BROKEN) is DeliveryStatus.FAILED
    view = await database.read(lambda connection: find_delivery(connection, claimed.id))
    assert view is not None
    assert view.finished_at is not None
    assert await events_taken(database) == ["second"]


async def test_a_dead_senders_delivery_goes_out_again_under_the_same_message_id(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    (lost,) = await taken(database, terms=LOST_AT_ONCE)
    assert await database.read(is_anything_to_do)
    (again,) = await taken(database)
    assert (again.id, again.message_id, again.body) == (lost.id, lost.message_id, lost.body)
    assert again.epoch == lost.epoch + 1


async def test_a_sender_that_lost_its_lease_writes_nothing(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    (lost,) = await taken(database, terms=LOST_AT_ONCE)
    (again,) = await taken(database)
    assert await recorded(database, lost, BROKEN) is None
    assert (await the_only(database)).status is DeliveryStatus.SENDING
    assert await recorded(database, again, TAKEN_WELL) is DeliveryStatus.DELIVERED
    assert await recorded(database, again, BROKEN) is None
    assert len((await the_only(database)).log) == 1


async def test_a_stop_hands_back_only_what_is_its_own(database: Database) -> None:
    await told(database, ("mine", "i-1"))
    await taken(database)
    await told(database, ("theirs", "i-2"))
    await taken(database, terms=Terms("two", TERMS.lease, TERMS.hold, TERMS.patience))
    assert await database.write(lambda connection: hand_back(connection, "one")) == 1
    assert await events_taken(database) == ["mine"]
    assert await database.write(rescue_all) == 2


async def test_a_replay_sends_again_under_the_same_id_with_new_patience(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    (claimed,) = await taken(database, terms=HOPELESS)
    await recorded(database, claimed, BROKEN)
    assert await database.write(lambda connection: replay(connection, claimed.id))
    (again,) = await taken(database)
    assert (again.id, again.message_id) == (claimed.id, claimed.message_id)
    assert await recorded(database, again, BROKEN) is DeliveryStatus.WAITING
    view = await the_only(database)
    assert view.attempts == 2
    assert view.next_attempt_at == view.log[-1].at + timedelta(seconds=5)


async def test_a_replay_of_old_news_holds_back_nobody_and_waits_for_nobody(database: Database) -> None:
    await told(database, ("first", "i-1"))
    (first,) = await taken(database, terms=STUCK_AT_ONCE)
    await recorded(database, first, TAKEN_WELL)
    await told(database, ("second", "i-1"))
    await database.write(lambda connection: replay(connection, first.id))
    assert sorted(await events_taken(database)) == ["first", "second"]


async def test_a_replay_of_what_is_on_its_way_or_unknown_changes_nothing(database: Database) -> None:
    await told(database, ("ready", "i-1"))
    (claimed,) = await taken(database)
    assert await database.write(lambda connection: replay(connection, claimed.id))
    assert (await the_only(database)).status is DeliveryStatus.SENDING
    assert not await database.write(lambda connection: replay(connection, 999))
