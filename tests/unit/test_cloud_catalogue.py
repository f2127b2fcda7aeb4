"""The catalogue over the pretend cloud in process: cached, in parallel, stale while the cloud is down."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

from ostler.cloud.caches import Caches
from ostler.cloud.catalogue import Catalogue, Lives, OfferQuery
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.refusals import Gone, Unavailable
from ostler.cloud.transport import Transport, TransportConfig
from ostler.domain.catalogue import BillingMode, Channel
from ostler.domain.money import Usd
from ostler.simulator import stockroom
from ostler.simulator.instance import Mode
from ostler.simulator.market import Shelf
from tests.support.cloud import LoopClock
from tests.support.simulator import API_KEY, BASE_URL, SimulatedCloud, refused, server_error

pytestmark = pytest.mark.looptime
PRODUCTS = "GET /gpu-instance/openapi/v1/products"
REGIONS = "GET /gpu-instance/openapi/v1/clusters"
AUTHS = "GET /gpu-instance/openapi/v1/repository/auths"
RTX_4090 = OfferQuery("RTX 4090 24GB")


@dataclass
class Setting:
    simulated: SimulatedCloud
    catalogue: Catalogue
    caches: Caches

    def breaks_down(self, route: str = "*") -> None:
        self.simulated.share_of_calls(route, server_error(503), 1.0)


@pytest.fixture
async def setting() -> AsyncIterator[Setting]:
    simulated = SimulatedCloud()
    config = TransportConfig(BASE_URL, SecretStr(API_KEY), max_attempts=1, per_minute=0)
    transport = Transport(config, LoopClock(), network=simulated.transport())
    caches = Caches()
    lives = Lives(products_s=300, templates_s=600, regions_s=3600)
    yield Setting(simulated, Catalogue(NovitaCloud(transport), caches, LoopClock(), lives), caches)
    await transport.aclose()


async def test_regions_are_found_by_any_of_their_names(setting: Setting) -> None:
    for word in ("us-ca-6", "US-CA-06", "US-CA-06 (California)"):
        region = await setting.catalogue.region(word)
        assert region is not None
        assert region.id == "us-ca-6"
    assert await setting.catalogue.region("atlantis") is None
    assert setting.simulated.calls_of(REGIONS) == 1


async def test_products_of_all_regions_cost_one_call_per_region_and_then_none(setting: Setting) -> None:
    regions = (await setting.catalogue.regions()).value
    board = await setting.catalogue.products(BillingMode.SPOT)
    assert setting.simulated.calls_of(PRODUCTS) == len(regions)
    assert {product.region_id for product in board.products} <= {region.id for region in regions}
    assert not board.failures
    again = await setting.catalogue.products(BillingMode.SPOT)
    assert again.products == board.products
    assert again.was_cached
    assert setting.simulated.calls_of(PRODUCTS) == len(regions)


async def test_products_are_read_for_the_regions_asked_for_only(setting: Setting) -> None:
    region = await setting.catalogue.region("US-CA-06")
    assert region is not None
    board = await setting.catalogue.products(BillingMode.SPOT, 2, [region])
    assert {product.region_id for product in board.products} == {"us-ca-6"}
    assert setting.simulated.calls_of(PRODUCTS) == 1


async def test_products_live_five_minutes(setting: Setting) -> None:
    region = await setting.catalogue.region("US-CA-06")
    assert region is not None
    for wait in (0, 299, 2):
        await LoopClock().sleep(wait)
        await setting.catalogue.products(BillingMode.SPOT, 1, [region])
    assert setting.simulated.calls_of(PRODUCTS) == 2


async def test_offers_are_the_cheapest_first_and_priced_for_all_gpus(setting: Setting) -> None:
    board = await setting.catalogue.offers(OfferQuery("RTX 4090 24GB", gpus=2))
    prices = [offer.price_per_hour for offer in board.offers]
    assert prices == sorted(prices)
    assert len({offer.region.id for offer in board.offers}) > 1
    assert all(offer.price_per_hour == offer.price_per_gpu_hour * 2 for offer in board.offers)
    assert any(offer.price_per_hour == Usd.of("0.35") for offer in board.offers)  # 2 × 0.175 as spot


async def test_a_name_is_matched_exactly_before_its_parts(setting: Setting) -> None:
    everything = await setting.catalogue.offers(OfferQuery())
    names = {offer.product.name for offer in everything.offers}
    exact = await setting.catalogue.offers(RTX_4090)
    assert {offer.product.name for offer in exact.offers} == {"RTX 4090 24GB"}
    parts = await setting.catalogue.offers(OfferQuery("4090"))
    assert {offer.product.name for offer in parts.offers} == {name for name in names if "4090" in name}
    in_any_case = await setting.catalogue.offers(OfferQuery("rtx 4090 24gb"))
    assert {offer.product.name for offer in in_any_case.offers} == {
        name for name in names if "RTX 4090 24GB" in name
    }
    assert not (await setting.catalogue.offers(OfferQuery("no such card"))).offers


async def test_what_is_sold_out_is_no_offer(setting: Setting) -> None:
    region = await setting.catalogue.region("US-CA-06")
    assert region is not None
    query = OfferQuery("RTX 4090 24GB", billing_mode=BillingMode.ON_DEMAND, regions=(region,))
    before = await setting.catalogue.offers(query)
    sold_out = {offer.product.id for offer in before.offers}
    assert sold_out
    for product_id in sold_out:
        stockroom.fill(setting.simulated.world, Shelf(product_id, "us-ca-6", Mode.ON_DEMAND, 0, 1))
    setting.caches.clear()
    assert not (await setting.catalogue.offers(query)).offers


async def test_one_region_that_fails_does_not_hide_the_others(setting: Setting) -> None:
    await setting.catalogue.regions()
    setting.simulated.next_call("*/products", refused("FORBIDDEN", 403))
    board = await setting.catalogue.products(BillingMode.SPOT)
    assert len(board.failures) == 1
    assert "FORBIDDEN" in next(iter(board.failures.values()))
    assert board.products


async def test_when_no_region_can_be_read_the_reason_is_told(setting: Setting) -> None:
    await setting.catalogue.regions()
    setting.breaks_down()
    with pytest.raises(Unavailable):
        await setting.catalogue.products(BillingMode.SPOT)


async def test_while_the_cloud_is_down_what_was_read_is_served_as_stale(setting: Setting) -> None:
    fresh = await setting.catalogue.offers(RTX_4090)
    await LoopClock().sleep(4000)
    setting.breaks_down()
    stale = await setting.catalogue.offers(RTX_4090)
    assert stale.offers == fresh.offers
    assert (fresh.board.is_stale, stale.board.is_stale) == (False, True)
    assert stale.board.observed_at == fresh.board.observed_at
    setting.simulated.all_is_well()
    await LoopClock().sleep(61)
    assert not (await setting.catalogue.offers(RTX_4090)).board.is_stale


async def test_templates_are_judged_and_cached(setting: Setting) -> None:
    kept = await setting.catalogue.templates(Channel.OFFICIAL)
    assert kept.value
    assert all(verdict.template or verdict.problems for verdict in kept.value)
    first = await setting.catalogue.template(kept.value[0].sheet.id)
    again = await setting.catalogue.template(kept.value[0].sheet.id)
    assert first.value == kept.value[0]
    assert (first.was_cached, again.was_cached) == (False, True)
    with pytest.raises(Gone):
        await setting.catalogue.template("99999")


async def test_a_registry_auth_that_was_added_since_is_found(setting: Setting) -> None:
    assert await setting.catalogue.registry_auth("nobody") is None
    async with setting.simulated.client() as client:
        await client.post(
            "/gpu-instance/openapi/v1/repository/auth/save",
            json={"name": "registry.test", "username": "u", "password": "p"},
        )
        listed = (await client.get("/gpu-instance/openapi/v1/repository/auths")).json()["data"]
    added = next(row["id"] for row in listed if row["name"] == "registry.test")
    before = setting.simulated.calls_of(AUTHS)
    found = await setting.catalogue.registry_auth(added)
    assert found is not None
    assert found.name == "registry.test"
    await setting.catalogue.registry_auth(added)
    assert setting.simulated.calls_of(AUTHS) == before + 1


async def test_all_caches_are_registered_by_name_with_their_statistics(setting: Setting) -> None:
    assert setting.caches.names() == ("products", "offers", "templates", "regions", "registryAuths")
    await setting.catalogue.offers(RTX_4090)
    await setting.catalogue.offers(RTX_4090)
    stats = setting.caches.stats()
    assert (stats["offers"].hits, stats["offers"].misses, stats["offers"].hit_ratio) == (1, 1, 0.5)
    assert stats["products"].size == stats["offers"].size == setting.simulated.calls_of(PRODUCTS)
    assert (stats["regions"].life_s, stats["templates"].life_s, stats["products"].life_s) == (3600, 600, 300)


async def test_clearing_offers_clears_the_products_they_are_drawn_from(setting: Setting) -> None:
    await setting.catalogue.offers(RTX_4090)
    offers = setting.caches.find("offers")
    assert offers is not None
    assert offers.delete("us-ca-6:spot:1")
    assert not offers.delete("us-ca-6:spot:1")
    assert offers.cleanup() == 0
    assert offers.clear() > 0
    before = setting.simulated.calls_of(PRODUCTS)
    await setting.catalogue.offers(RTX_4090)
    assert setting.simulated.calls_of(PRODUCTS) > before
