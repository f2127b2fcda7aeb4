"""One accepted request, one paid instance: whatever the cloud answers, or does not answer."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection, select

from ostler.domain.attempts import Answer, AttemptState
from ostler.domain.catalogue import BillingMode
from ostler.domain.errors import IdempotencyKeyReused
from ostler.domain.failures import FailureCode
from ostler.domain.lifecycle import State
from ostler.domain.phases import CreatingPhase
from ostler.simulator.faults import Fault
from ostler.store.attempts import attempts_of
from ostler.store.idempotency import RequestKey, idempotency, keep_answer
from tests.support.core import Ostler, a_wish, an_installation
from tests.support.simulator import (
    late_in_lists,
    malformed_answer,
    no_capacity,
    rate_limited,
    refused,
    reset_after_effect,
    server_error,
    timeout_after_effect,
    timeout_before_effect,
)

pytestmark = pytest.mark.looptime


async def _outcomes(ostler: Ostler, instance_id: str) -> list[tuple[AttemptState, Answer | None]]:
    rows = await ostler.database.read(lambda connection: attempts_of(connection, instance_id))
    return [(row.attempt.state, row.attempt.answer) for row in rows]


@pytest.mark.parametrize(
    "fault",
    [
        timeout_after_effect(),
        reset_after_effect(),
        server_error(502, after_effect=True),
        malformed_answer(),
    ],
    ids=["timeout", "reset", "502", "half a JSON"],
)
async def test_an_answer_lost_after_the_effect_is_adopted(fault: Fault) -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(fault)
        accepted = await ostler.accept(a_wish())
        running = await ostler.until(accepted.instance_id, State.RUNNING)
        assert home.ever_billed() == [running.upstream_id]
        assert await _outcomes(ostler, accepted.instance_id) == [(AttemptState.ADOPTED, Answer.LOST)]


async def test_a_create_that_shows_in_lists_only_later_is_adopted_and_not_repeated() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(late_in_lists(20))
        home.simulated.next_create(timeout_after_effect())
        accepted = await ostler.accept(a_wish())
        await ostler.until(accepted.instance_id, State.RUNNING)
        assert len(home.ever_billed()) == 1


@pytest.mark.parametrize("fault", [timeout_before_effect(), server_error(502)], ids=["timeout", "502"])
async def test_a_lost_call_is_repeated_only_after_it_is_settled_to_be_absent(fault: Fault) -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(fault)
        accepted = await ostler.accept(a_wish())
        await ostler.clock.sleep(45)
        assert (await ostler.instance(accepted.instance_id)).phase is CreatingPhase.ADOPTING
        assert home.ever_billed() == []
        await ostler.until(accepted.instance_id, State.RUNNING)
        assert len(home.ever_billed()) == 1
        states = [state for state, _ in await _outcomes(ostler, accepted.instance_id)]
        assert states == [AttemptState.SETTLED_ABSENT, AttemptState.PLACED]


async def test_a_prepaid_create_whose_answer_was_lost_is_never_placed_again() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(timeout_before_effect())
        spec = replace(a_wish(), billing_mode=BillingMode.MONTHLY, months=1)
        accepted = await ostler.accept(spec)
        failed = await ostler.until(accepted.instance_id, State.FAILED)
        assert failed.error is not None
        assert failed.error.code is FailureCode.NETWORK_ERROR
        assert home.ever_billed() == []


async def test_what_is_sold_out_is_tried_elsewhere_and_remembered() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(no_capacity())
        first = await ostler.accept(a_wish("first"))
        await ostler.until(first.instance_id, State.RUNNING)
        [sold_out, placed] = await ostler.database.read(
            lambda connection: attempts_of(connection, first.instance_id)
        )
        second = await ostler.accept(a_wish("second"))
        await ostler.until(second.instance_id, State.RUNNING)
        [other] = await ostler.database.read(lambda connection: attempts_of(connection, second.instance_id))
    assert sold_out.attempt.state is AttemptState.NO_CAPACITY
    assert placed.attempt.offer == other.attempt.offer != sold_out.attempt.offer


async def test_a_refusal_that_no_other_offer_mends_fails_at_once() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_create(refused("BALANCE_NOT_ENOUGH"))
        accepted = await ostler.accept(a_wish())
        failed = await ostler.until(accepted.instance_id, State.FAILED, within_s=10)
        assert failed.error is not None
        assert failed.error.code is FailureCode.REFUSED_BY_CLOUD
        assert not failed.error.still_billed
        assert await _outcomes(ostler, accepted.instance_id) == [(AttemptState.REFUSED, Answer.REFUSED)]


async def test_a_throttled_create_is_repeated_until_it_passes() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_call("POST */gpu/instance/create", rate_limited(1), times=3)
        accepted = await ostler.accept(a_wish())
        await ostler.until(accepted.instance_id, State.RUNNING)
        assert len(home.ever_billed()) == 1


async def test_the_same_key_and_body_are_answered_the_same_and_done_once() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        first = await ostler.accept(a_wish(), "a key")
        again = await ostler.accept(a_wish(), "a key")
        assert again == first
        await ostler.until(first.instance_id, State.RUNNING)
        assert len(home.ever_billed()) == 1
        with pytest.raises(IdempotencyKeyReused):
            await ostler.accept(a_wish("another"), "a key")


async def test_answers_of_more_than_a_day_ago_are_cleaned_away() -> None:
    async with an_installation() as home:
        ostler = await home.process()

        def keep(connection: Connection) -> None:
            for hours in (23, 25):
                key = RequestKey("somebody", "create", f"{hours} hours ago", "a body")
                keep_answer(connection, key, {}, ostler.clock.now() - timedelta(hours=hours))

        await ostler.database.write(keep)
        await ostler.clock.sleep(31 * 60)
        left = await ostler.database.read(
            lambda connection: connection.scalars(select(idempotency.c.key)).all()
        )
        assert left == ["23 hours ago"]


async def test_a_key_works_after_a_restart_and_while_the_cloud_is_away() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        first = await ostler.accept(a_wish(), "a key")
        await ostler.until(first.instance_id, State.RUNNING)
        await ostler.stop()
        home.simulated.share_of_calls("*", timeout_before_effect(), 1.0)
        heir = await home.process()
        assert await heir.accept(a_wish(), "a key") == first


async def test_forty_requests_at_once_are_forty_instances() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        wishes = [replace(a_wish(), region="US-CA-06") for _ in range(40)]
        accepted = await asyncio.gather(*(ostler.accept(wish) for wish in wishes))
        for each in accepted:
            await ostler.until(each.instance_id, State.RUNNING)
        assert len({each.instance_id for each in accepted}) == len(home.ever_billed()) == 40
