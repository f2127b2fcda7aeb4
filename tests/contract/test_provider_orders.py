"""The provider's contract, writing: against the pretend cloud in process and over real HTTP.

What a create and each verb of the port do to a cloud whose every state the test knows.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from ostler.clock import SystemClock
from ostler.cloud.lane import Lane
from ostler.cloud.refusals import Gone, InvalidState, NoCapacity, RefusalReason, Refused, TooLate
from ostler.domain.catalogue import BillingMode
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState
from ostler.simulator.accounting import set_balance
from tests.support.cloud import an_order
from tests.support.provider import CLUSTER, PRODUCT, UNTIL_RUNNING_S, Setting, a_setting, saved_credentials

USER = Lane.USER


@pytest.fixture(params=["in process", "over HTTP"])
async def setting(request: pytest.FixtureRequest) -> AsyncIterator[Setting]:
    async with a_setting(is_over_http=request.param == "over HTTP") as setting:
        yield setting


async def test_a_created_instance_can_be_seen_by_id_name_and_list(setting: Setting) -> None:
    upstream_id = await setting.cloud.create(an_order("demo--os-abcd-efgh-1"))
    seen = await setting.cloud.get(upstream_id, lane=USER)
    assert (seen.id, seen.name, seen.state) == (
        upstream_id,
        "demo--os-abcd-efgh-1",
        UpstreamState.PROVISIONING,
    )
    assert (seen.region_id, seen.product_id, seen.billing_mode) == (CLUSTER, PRODUCT, BillingMode.ON_DEMAND)
    assert (seen.gpus, seen.rootfs_gb, seen.price_per_gpu_hour) == (1, 60, Usd.of("0.35"))
    found = await setting.cloud.find_by_name("demo--os-abcd-efgh-1")
    assert ([upstream.id for upstream in found.upstreams], found.is_complete) == ([upstream_id], True)
    listing = await setting.cloud.list_all()
    assert ([upstream.id for upstream in listing.upstreams], listing.is_complete) == ([upstream_id], True)


async def test_verbs_move_an_instance(setting: Setting) -> None:
    upstream_id = await setting.running()
    await setting.cloud.restart(upstream_id)
    assert await setting.state(upstream_id) is UpstreamState.BOOTING
    setting.simulated.advance(UNTIL_RUNNING_S)
    await setting.cloud.stop(upstream_id)
    assert await setting.state(upstream_id) is UpstreamState.STOPPING
    setting.simulated.advance(UNTIL_RUNNING_S)
    assert await setting.state(upstream_id) is UpstreamState.EXITED
    await setting.cloud.start(upstream_id)
    assert await setting.state(upstream_id) is UpstreamState.BOOTING
    setting.simulated.advance(UNTIL_RUNNING_S)
    await setting.cloud.delete(upstream_id)
    assert await setting.state(upstream_id) is UpstreamState.REMOVING
    setting.simulated.advance(UNTIL_RUNNING_S)
    with pytest.raises(Gone):
        await setting.cloud.get(upstream_id, lane=USER)


async def test_a_migration_is_a_state_and_a_job(setting: Setting) -> None:
    upstream_id = await setting.stopped()
    await setting.cloud.migrate(upstream_id)
    seen = await setting.cloud.get(upstream_id, lane=USER)
    assert seen.state is UpstreamState.MIGRATING
    jobs = await setting.cloud.jobs(upstream_id, lane=USER)
    assert [(job.kind, job.instance_id) for job in jobs] == [("instanceMigrate", upstream_id)]
    assert not await setting.cloud.jobs("another", lane=USER)


async def test_a_verb_in_the_wrong_state_is_an_invalid_state(setting: Setting) -> None:
    upstream_id = await setting.running()
    with pytest.raises(InvalidState):
        await setting.cloud.start(upstream_id)


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "delete", "migrate"])
async def test_a_verb_on_a_missing_instance_finds_it_gone(setting: Setting, verb: str) -> None:
    with pytest.raises(Gone, match="instance 0123456789abcdef"):
        await getattr(setting.cloud, verb)("0123456789abcdef")


async def test_a_create_without_stock_finds_no_capacity(setting: Setting) -> None:
    setting.sell_out()
    with pytest.raises(NoCapacity):
        await setting.cloud.create(an_order())
    assert not setting.simulated.world.ledger


async def test_a_start_without_stock_finds_no_capacity(setting: Setting) -> None:
    upstream_id = await setting.stopped()
    setting.sell_out()
    with pytest.raises(NoCapacity):
        await setting.cloud.start(upstream_id)


async def test_a_create_without_money_is_refused_for_the_balance(setting: Setting) -> None:
    set_balance(setting.simulated.world, "default", 0)
    with pytest.raises(Refused) as refusal:
        await setting.cloud.create(an_order())
    assert refusal.value.reason is RefusalReason.BALANCE


async def test_a_create_with_a_wrong_parameter_is_refused_and_secrets_are_not_quoted(
    setting: Setting,
) -> None:
    with pytest.raises(Refused) as refusal:
        await setting.cloud.create(replace(an_order(), rootfs_gb=100_000))
    assert refusal.value.reason is RefusalReason.VALIDATION
    assert "env-canary-value" not in f"{refusal.value!r}{an_order()!r}"


async def test_a_create_whose_time_is_over_is_not_sent(setting: Setting) -> None:
    past = SystemClock().now() - timedelta(seconds=1)
    with pytest.raises(TooLate):
        await setting.cloud.create(an_order(), not_after=past)
    assert not setting.simulated.world.ledger


async def test_an_order_arrives_as_it_was_meant(setting: Setting) -> None:
    order = replace(an_order(), command="serve --all", min_cuda_version="12.4")
    upstream_id = await setting.cloud.create(order)
    made = setting.simulated.world.instances[upstream_id]
    assert (made.name, made.image_url, made.command) == (
        "demo",
        "docker.io/library/ubuntu:22.04",
        "serve --all",
    )
    assert [(port.port, port.type) for port in made.ports] == [(8080, "http")]
    assert {env.key: env.value for env in made.envs} == {"TOKEN": "env-canary-value"}


async def test_a_monthly_order_has_a_term_that_is_not_renewed_by_itself(setting: Setting) -> None:
    order = replace(an_order(), billing_mode=BillingMode.MONTHLY, months=2)
    upstream_id = await setting.cloud.create(order)
    seen = await setting.cloud.get(upstream_id, lane=USER)
    assert seen.billing_mode is BillingMode.MONTHLY
    assert seen.ends_at is not None
    setting.simulated.advance(UNTIL_RUNNING_S * 10)
    with pytest.raises(Refused) as refusal:
        await setting.cloud.delete(upstream_id)
    assert refusal.value.reason is RefusalReason.SUBSCRIPTION
    await setting.cloud.set_auto_renew(upstream_id, months=1)
    await setting.cloud.set_auto_renew(upstream_id, months=0)


async def test_an_order_may_carry_credentials_by_id_or_in_full(setting: Setting) -> None:
    auth = await saved_credentials(setting)
    by_id = await setting.cloud.create(replace(an_order(), registry_auth_id=auth.id))
    assert (await setting.cloud.get(by_id, lane=USER)).registry_auth_id == auth.id
    credentials = await setting.cloud.registry_credentials(auth.id, lane=USER)
    in_full = replace(an_order(), credentials=credentials)
    assert "registry-canary" not in repr(in_full)
    assert await setting.cloud.create(in_full)
