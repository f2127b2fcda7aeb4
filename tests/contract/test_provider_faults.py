"""Every fault that the pretend cloud can commit, and what of it reaches the caller; effects are counted.

The ledger and the call counts of the pretend cloud say what really happened, whatever the answer was.
"""

import asyncio
from dataclasses import replace

import pytest

from ostler.cloud.refusals import (
    Ambiguous,
    InvalidState,
    Malformed,
    NoCapacity,
    RateLimited,
    RefusalReason,
    Refused,
    Unavailable,
)
from ostler.simulator.exchange import ErrorBody
from ostler.simulator.faults import Fault
from tests.support.cloud import an_order
from tests.support.faulty_cloud import CREATE, LIST, STOP, USER, a_setting, refusal_of
from tests.support.simulator import (
    late_in_lists,
    malformed_answer,
    no_capacity,
    rate_limited,
    refused,
    reset_after_effect,
    reset_before_effect,
    server_error,
    slow,
    timeout_after_effect,
    timeout_before_effect,
)

# the answer is lost; how often the effect of a write happened all the same
LOST = [
    (timeout_before_effect(), 0),
    (timeout_after_effect(), 1),
    (reset_before_effect(), 0),
    (reset_after_effect(), 1),
    (server_error(500), 0),
    (server_error(500, after_effect=True), 1),
    (server_error(502), 0),
    (server_error(502, after_effect=True), 1),
    (server_error(503), 0),
    (server_error(504, after_effect=True), 1),
]


LOST_IDS = [
    f"{fault.kind} {fault.status if fault.kind == 'status' else ''} {effects}" for fault, effects in LOST
]


@pytest.mark.looptime
@pytest.mark.parametrize(("fault", "effects"), LOST, ids=LOST_IDS)
async def test_a_create_whose_answer_is_lost_is_ambiguous_and_sent_once(fault: Fault, effects: int) -> None:
    setting = a_setting()
    setting.simulated.next_call("*/create", fault, times=5)
    assert isinstance(await refusal_of(setting.cloud.create(an_order())), Ambiguous)
    assert setting.calls(CREATE) == 1
    assert setting.effects() == effects


@pytest.mark.looptime
@pytest.mark.parametrize(("fault", "effects"), LOST, ids=LOST_IDS)
async def test_a_stop_whose_answer_is_lost_is_ambiguous_and_sent_once(fault: Fault, effects: int) -> None:
    setting = a_setting()
    upstream_id = await setting.running()
    setting.simulated.next_call("*/stop", fault, times=5)
    assert isinstance(await refusal_of(setting.cloud.stop(upstream_id)), Ambiguous)
    assert setting.calls(STOP) == 1
    was_stopped = setting.simulated.world.instances[upstream_id].status != "running"
    assert was_stopped == bool(effects)


@pytest.mark.looptime
@pytest.mark.parametrize(("fault", "effects"), LOST, ids=LOST_IDS)
async def test_a_read_whose_answer_is_lost_is_repeated(fault: Fault, effects: int) -> None:  # noqa: ARG001 -- reads have none
    setting = a_setting()
    upstream_id = await setting.running()
    setting.simulated.next_call("*/gpu/instances", fault, times=2)
    listing = await setting.cloud.list_all()
    assert [upstream.id for upstream in listing.upstreams] == [upstream_id]
    assert setting.calls(LIST) == 3


@pytest.mark.looptime
async def test_a_read_that_stays_lost_is_unavailable() -> None:
    setting = a_setting()
    setting.simulated.next_call("*", server_error(503), times=3)
    assert isinstance(await refusal_of(setting.cloud.list_all()), Unavailable)
    assert setting.calls(LIST) == 3


@pytest.mark.looptime
async def test_a_429_is_repeated_even_for_a_create_because_nothing_was_done() -> None:
    setting = a_setting()
    setting.simulated.next_call("*/create", rate_limited(5), times=2)
    began = asyncio.get_running_loop().time()
    assert await setting.cloud.create(an_order())
    assert asyncio.get_running_loop().time() - began >= 10
    assert (setting.calls(CREATE), setting.effects()) == (3, 1)


@pytest.mark.looptime
async def test_a_429_that_does_not_end_is_told_with_its_wait() -> None:
    setting = a_setting()
    setting.simulated.next_call("*/create", rate_limited(5), times=3)
    refusal = await refusal_of(setting.cloud.create(an_order()))
    assert isinstance(refusal, RateLimited)
    assert refusal.retry_after_s == 5
    assert setting.effects() == 0


@pytest.mark.looptime
@pytest.mark.parametrize("form", list(ErrorBody))
async def test_a_429_is_one_in_whatever_form_it_comes(form: ErrorBody) -> None:
    setting = a_setting()
    setting.simulated.next_call("*/create", rate_limited(5, body=form), times=2)
    assert await setting.cloud.create(an_order())
    assert (setting.calls(CREATE), setting.effects()) == (3, 1)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("form", "reason", "code", "said"),
    [
        (ErrorBody.ENVELOPE, RefusalReason.QUOTA, "CREATE_GPU_NUM_LIMIT", "create_gpu_num_limit"),
        (ErrorBody.MESSAGE, RefusalReason.OTHER, "HTTP_400", "create_gpu_num_limit"),
        (ErrorBody.ERROR, RefusalReason.OTHER, "HTTP_400", "create_gpu_num_limit"),
        (ErrorBody.EMPTY, RefusalReason.OTHER, "HTTP_400", ""),
    ],
)
async def test_a_refusal_is_told_in_whatever_form_it_comes(
    form: ErrorBody, reason: RefusalReason, code: str, said: str
) -> None:
    setting = a_setting()
    setting.simulated.next_create(replace(refused("CREATE_GPU_NUM_LIMIT"), body=form))
    refusal = await refusal_of(setting.cloud.create(an_order()))
    assert isinstance(refusal, Refused)
    assert (refusal.reason, refusal.code, refusal.said) == (reason, code, said)
    assert (setting.calls(CREATE), setting.effects()) == (1, 0)


@pytest.mark.looptime
@pytest.mark.parametrize("form", [ErrorBody.ENVELOPE, ErrorBody.MESSAGE, ErrorBody.ERROR])
async def test_an_invalid_state_is_known_by_its_words_alone(form: ErrorBody) -> None:
    setting = a_setting()
    upstream_id = await setting.running()
    setting.simulated.next_call("*/stop", replace(refused("INVALID_STATE_CHANGE"), body=form))
    assert isinstance(await refusal_of(setting.cloud.stop(upstream_id)), InvalidState)


@pytest.mark.looptime
async def test_half_an_answer_to_a_create_is_ambiguous_because_it_was_done() -> None:
    setting = a_setting()
    setting.simulated.next_create(malformed_answer())
    assert isinstance(await refusal_of(setting.cloud.create(an_order())), Ambiguous)
    assert (setting.calls(CREATE), setting.effects()) == (1, 1)


@pytest.mark.looptime
async def test_half_an_answer_to_a_read_is_malformed() -> None:
    setting = a_setting()
    setting.simulated.next_call("*/gpu/instances", malformed_answer())
    refusal = await refusal_of(setting.cloud.list_all())
    assert isinstance(refusal, Malformed)
    assert refusal.field == "body"


@pytest.mark.looptime
async def test_no_capacity_is_told_and_not_repeated() -> None:
    setting = a_setting()
    setting.simulated.next_create(no_capacity())
    assert isinstance(await refusal_of(setting.cloud.create(an_order())), NoCapacity)
    assert (setting.calls(CREATE), setting.effects()) == (1, 0)


@pytest.mark.looptime
async def test_an_invalid_state_may_hide_a_success() -> None:
    setting = a_setting()
    upstream_id = await setting.running()
    await setting.cloud.stop(upstream_id)
    setting.simulated.advance(600)
    setting.simulated.next_call("*/start", refused("INVALID_STATE_CHANGE", after_effect=True))
    assert isinstance(await refusal_of(setting.cloud.start(upstream_id)), InvalidState)
    assert setting.simulated.world.instances[upstream_id].status == "toStart"


@pytest.mark.looptime
async def test_any_other_refusal_is_told_by_its_reason() -> None:
    setting = a_setting()
    setting.simulated.next_create(refused("CREATE_GPU_NUM_LIMIT"))
    refusal = await refusal_of(setting.cloud.create(an_order()))
    assert isinstance(refusal, Refused)
    assert (refusal.reason, refusal.code) == (RefusalReason.QUOTA, "CREATE_GPU_NUM_LIMIT")


@pytest.mark.looptime
async def test_a_slow_answer_within_the_timeout_is_an_answer() -> None:
    setting = a_setting()
    setting.simulated.next_create(slow(9))
    assert await setting.cloud.create(an_order())


@pytest.mark.looptime
async def test_an_answer_after_the_timeout_is_ambiguous_and_nothing_is_sent_again() -> None:
    setting = a_setting()
    setting.simulated.next_create(slow(11))
    assert isinstance(await refusal_of(setting.cloud.create(an_order())), Ambiguous)
    assert setting.calls(CREATE) == 1


@pytest.mark.looptime
async def test_an_effect_that_lists_show_late_is_seen_at_once_by_its_id() -> None:
    setting = a_setting()
    setting.simulated.next_create(late_in_lists(30))
    upstream_id = await setting.cloud.create(an_order())
    assert (await setting.cloud.get(upstream_id, lane=USER)).id == upstream_id
    assert not (await setting.cloud.find_by_name("demo")).upstreams
    setting.simulated.advance(31)
    assert [upstream.id for upstream in (await setting.cloud.find_by_name("demo")).upstreams] == [upstream_id]
