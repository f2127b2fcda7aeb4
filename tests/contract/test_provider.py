"""The provider's contract, reading: against the pretend cloud in process and over real HTTP.

What each read of the port says, in our words, about a cloud whose every state the test knows.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from ostler.cloud.lane import Lane
from ostler.cloud.refusals import Gone, Unauthorized
from ostler.cloud.upstream import Credentials, SpotStatus
from ostler.domain.catalogue import BillingMode, Channel, Inventory, Protocol, region_called
from ostler.domain.money import Usd
from ostler.domain.templates import judged
from ostler.domain.upstream import UpstreamState
from ostler.simulator import seeding, spot
from ostler.simulator.accounting import set_balance
from ostler.simulator.keys import KEYS, Key, Verdict
from ostler.simulator.status import Status
from tests.support.cloud import an_order
from tests.support.provider import CLUSTER, PRODUCT, UNTIL_RUNNING_S, Setting, a_setting, saved_credentials
from tests.support.simulator import API_KEY

USER = Lane.USER


@pytest.fixture(params=["in process", "over HTTP"])
async def setting(request: pytest.FixtureRequest) -> AsyncIterator[Setting]:
    async with a_setting(is_over_http=request.param == "over HTTP") as setting:
        yield setting


async def test_regions_are_found_by_id_code_and_name(setting: Setting) -> None:
    regions = await setting.cloud.regions(lane=USER)
    assert len(regions) > 2
    for word in ("us-ca-6", "US-CA-06", "us-ca-06 (california)"):
        found = region_called(regions, word)
        assert found is not None
        assert (found.id, found.code, found.name) == ("us-ca-6", "US-CA-06", "US-CA-06 (California)")
    assert region_called(regions, "atlantis") is None


@pytest.mark.parametrize(
    ("mode", "price"), [(BillingMode.ON_DEMAND, Usd.of("0.35")), (BillingMode.SPOT, Usd.of("0.175"))]
)
async def test_products_have_the_price_of_the_mode(setting: Setting, mode: BillingMode, price: Usd) -> None:
    region = await setting.region()
    products = await setting.cloud.products(region, mode, 1, lane=USER)
    product = next(product for product in products if product.id == PRODUCT)
    assert (product.region_id, product.billing_mode, product.price_per_gpu_hour) == (CLUSTER, mode, price)
    assert product.is_deployable


async def test_a_sold_out_product_is_listed_as_such(setting: Setting) -> None:
    setting.sell_out()
    products = await setting.cloud.products(await setting.region(), BillingMode.ON_DEMAND, 1, lane=USER)
    product = next(product for product in products if product.id == PRODUCT)
    assert (product.is_deployable, product.inventory) == (False, Inventory.NONE)


async def test_cpu_products_have_a_price(setting: Setting) -> None:
    products = await setting.cloud.cpu_products(await setting.region(), lane=USER)
    assert products
    assert all(product.price_per_hour and product.cpus for product in products)


async def test_templates_are_listed_and_found_by_id(setting: Setting) -> None:
    sheets = await setting.cloud.templates(Channel.OFFICIAL, lane=USER)
    assert sheets
    sheet = await setting.cloud.template(sheets[0].id, lane=USER)
    assert sheet == sheets[0]
    assert judged(sheet).template is not None


async def test_a_template_that_does_not_exist_is_gone(setting: Setting) -> None:
    with pytest.raises(Gone, match="template 99999"):
        await setting.cloud.template("99999", lane=USER)


async def test_an_instance_that_does_not_exist_is_gone(setting: Setting) -> None:
    with pytest.raises(Gone) as refusal:
        await setting.cloud.get("0123456789abcdef", lane=USER)
    assert refusal.value.observed_at <= datetime.now(UTC)  # noqa: TID251 -- the transport's clock is the system's


async def test_names_are_compared_exactly_though_the_cloud_does_not(setting: Setting) -> None:
    for name in ("demo", "demo-2", "my-demo", "DEMO"):
        await setting.cloud.create(an_order(name))
    found = await setting.cloud.find_by_name("demo")
    assert [upstream.name for upstream in found.upstreams] == ["demo"]
    assert (await setting.cloud.find_by_name("dem")).upstreams == ()


async def test_a_running_instance_shows_its_endpoints_and_ways_in(setting: Setting) -> None:
    seen = await setting.cloud.get(await setting.running(), lane=USER)
    assert seen.state is UpstreamState.RUNNING
    assert [(endpoint.port, endpoint.protocol) for endpoint in seen.endpoints] == [(8080, Protocol.HTTP)]
    assert seen.endpoints[0].address.startswith("http")
    assert seen.connection is not None
    assert seen.connection.ssh_command.startswith("ssh ")
    password = seen.connection.ssh_password.get_secret_value()
    assert password
    assert password not in repr(seen)
    assert seen.started_at is not None
    assert seen.created_at is not None
    assert seen.stopped_at is None


async def test_rows_of_a_list_have_no_ways_in(setting: Setting) -> None:
    await setting.running()
    page = await setting.cloud.list_page(0)
    assert page.total == 1
    assert page.upstreams[0].connection is None


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.FORBIDDEN])
async def test_a_wrong_key_is_unauthorized_in_either_form(setting: Setting, verdict: Verdict) -> None:
    setting.simulated.world.put(KEYS, API_KEY, Key(API_KEY, verdict))
    with pytest.raises(Unauthorized):
        await setting.cloud.list_all()


async def test_a_reclaim_is_announced_and_seen(setting: Setting) -> None:
    order = replace(an_order(), billing_mode=BillingMode.SPOT)
    upstream_id = await setting.cloud.create(order)
    setting.simulated.advance(UNTIL_RUNNING_S * 10)
    spot.force_notice(setting.simulated.world, setting.simulated.world.instances[upstream_id], 3600)
    setting.simulated.advance(1)
    seen = await setting.cloud.get(upstream_id, lane=USER)
    assert (seen.spot_status, seen.state) == (SpotStatus.NOTIFIED, UpstreamState.RUNNING)
    assert seen.reclaim_at is not None
    assert not seen.is_reclaimed
    setting.simulated.advance(2 * 3600)
    assert (await setting.cloud.get(upstream_id, lane=USER)).is_reclaimed
    assert (await setting.cloud.list_all()).upstreams[0].is_reclaimed


@pytest.mark.parametrize("count", [99, 100, 250])
async def test_a_large_account_is_listed_completely_with_a_call_per_hundred(
    setting: Setting, count: int
) -> None:
    seeding.seed(setting.simulated.world, "default", count, status=Status.RUNNING, name="seeded")
    first = await setting.cloud.list_all()
    again = await setting.cloud.list_all()
    assert first.is_complete
    assert again.is_complete
    assert len(again.upstreams) == count
    assert len({upstream.id for upstream in again.upstreams}) == count
    assert again.pages <= count // 100 + 1


async def test_the_balance_is_in_dollars(setting: Setting) -> None:
    set_balance(setting.simulated.world, "default", 12_345_000)
    assert (await setting.cloud.balance(lane=USER)).available == Usd.of("123.45")


async def test_use_of_the_gpus_is_measured(setting: Setting) -> None:
    upstream_id = await setting.running()
    setting.simulated.advance(600)
    now = datetime.fromtimestamp(setting.simulated.world.now, UTC)
    use = await setting.cloud.gpu_use(upstream_id, now - timedelta(minutes=5), now, lane=USER)
    assert use.compute
    assert all(0 <= sample.percent <= 100 for sample in use.compute)
    assert all(sample.at <= now for sample in use.compute)


async def test_registry_credentials_are_fetched_only_by_id(setting: Setting) -> None:
    auth = await saved_credentials(setting)
    credentials = await setting.cloud.registry_credentials(auth.id, lane=USER)
    assert credentials == Credentials("robot", SecretStr("registry-canary"))
    assert "registry-canary" not in f"{credentials!r}{auth!r}"
    with pytest.raises(Gone):
        await setting.cloud.registry_credentials("another", lane=USER)
