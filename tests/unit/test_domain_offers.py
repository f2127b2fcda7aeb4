"""The candidates of a create: their order, and the reason against every other region and offer."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.catalogue import BillingMode, Inventory, Product
from ostler.domain.money import Usd
from ostler.domain.offers import (
    Demand,
    LeftOutReason,
    Market,
    OfferKey,
    Plan,
    RegionWish,
    Route,
    offer_key,
    plan,
    route,
)
from tests.support.builders import Sale, a_product, a_region

SGP, HK, IN, US = (a_region(word) for word in ("as-sgp-2", "cn-hk-1", "as-in-1", "us-ca-6"))
REGIONS = [US, IN, HK, SGP]
DEMAND = Demand("RTX 4090 24GB", 1, BillingMode.SPOT, rootfs_gb=60)
PATH = Route(("CN-HK-1", "AS-SGP-2", "cn-hk-1", "AS-IN-1"))
CONFIGURED = RegionWish("CN-HK-01", ("AS-SGP-02", "CN-HK-01", "AS-IN-01"))


def at(region_id: str, units: int | None = 35_000, product_id: str = "4090") -> Product:
    return a_product(product_id, region_id, sale=Sale(units))


def found(result: Plan) -> list[tuple[str, str]]:
    return [(offer.region.id, offer.product.id) for offer in result.candidates]


def against(result: Plan) -> dict[tuple[str, str | None], LeftOutReason]:
    return {(each.region, each.product_id): each.reason for each in result.left_out}


def planned(products: Sequence[Product], demand: Demand = DEMAND, path: Route = PATH) -> Plan:
    return plan(demand, path, Market(REGIONS, products))


def test_the_preferred_region_comes_first_even_when_it_is_dearer() -> None:
    result = planned([at("as-in-1", 10), at("as-sgp-2", 20), at("cn-hk-1", 99), at("us-ca-6", 1)])

    assert found(result) == [("cn-hk-1", "4090"), ("as-sgp-2", "4090"), ("as-in-1", "4090")]
    assert against(result) == {("US-CA-6", None): LeftOutReason.NOT_ASKED_FOR}
    assert result.dearest == Usd(99)


def test_inside_a_region_the_cheapest_comes_first() -> None:
    result = planned([at("cn-hk-1", 30, "b"), at("cn-hk-1", 20, "c"), at("cn-hk-1", 30, "a")])
    assert found(result) == [("cn-hk-1", "c"), ("cn-hk-1", "a"), ("cn-hk-1", "b")]


def test_anywhere_takes_the_cheapest_of_all_regions() -> None:
    products = [at("us-ca-6", 10), at("cn-hk-1", 20), at("as-in-1", 5)]
    result = planned(products, path=Route(is_anywhere=True))
    assert [region for region, _ in found(result)] == ["as-in-1", "us-ca-6", "cn-hk-1"]
    assert against(result) == {("AS-SGP-2", None): LeftOutReason.NOT_SOLD_HERE}


@pytest.mark.parametrize(
    ("sale", "reason"),
    [
        (Sale(None), LeftOutReason.NOT_SOLD_SO),
        (Sale(mode=BillingMode.ON_DEMAND), LeftOutReason.NOT_SOLD_SO),
        (Sale(is_deployable=False), LeftOutReason.NOT_DEPLOYABLE),
        (Sale(inventory=Inventory.NONE), LeftOutReason.NOT_DEPLOYABLE),
        (Sale(35_001), LeftOutReason.OVER_PRICE_CAP),
    ],
)
def test_what_cannot_be_had_is_left_out_with_its_reason(sale: Sale, reason: LeftOutReason) -> None:
    capped = replace(DEMAND, max_price_per_hour=Usd(35_000))
    result = planned([a_product("p", "cn-hk-1", sale=sale)], capped)
    assert result.candidates == ()
    assert result.is_product_known
    assert against(result)["CN-HK-1", "p"] is reason


def test_the_cap_counts_all_gpus() -> None:
    capped = replace(DEMAND, gpus=3, max_price_per_hour=Usd(90))
    result = planned([at("cn-hk-1", 30, "fits"), at("cn-hk-1", 31, "dear")], capped)
    assert found(result) == [("cn-hk-1", "fits")]
    assert result.candidates[0].price_per_hour == Usd(90)
    assert next(each for each in result.left_out if each.product_id == "dear").price_per_hour == Usd(93)


def test_a_disk_that_is_too_small_leaves_the_product_out() -> None:
    small = replace(at("cn-hk-1"), max_rootfs_gb=50)
    unsaid = replace(at("as-sgp-2"), max_rootfs_gb=0)
    result = planned([small, unsaid])
    assert found(result) == [("as-sgp-2", "4090")]
    assert against(result)["CN-HK-1", "4090"] is LeftOutReason.DISK_TOO_SMALL


def test_what_was_sold_out_a_moment_ago_is_not_asked_again() -> None:
    memory = frozenset({OfferKey("4090", "cn-hk-1", BillingMode.SPOT)})
    result = plan(DEMAND, PATH, Market(REGIONS, [at("cn-hk-1"), at("as-sgp-2")], memory))
    assert found(result) == [("as-sgp-2", "4090")]
    assert against(result)["CN-HK-1", "4090"] is LeftOutReason.SOLD_OUT


def test_an_exact_name_keeps_namesakes_in_other_regions_out() -> None:
    exact = at("as-in-1", 99)
    part = a_product("ti", "cn-hk-1", "RTX 4090 24GB Ti", Sale(1))
    assert found(planned([exact, part])) == [("as-in-1", "4090")]
    assert found(planned([exact, part], replace(DEMAND, product_name="rtx 4090"))) == [
        ("cn-hk-1", "ti"),
        ("as-in-1", "4090"),
    ]


def test_a_product_that_nobody_sells_is_unknown() -> None:
    result = planned([at("cn-hk-1")], replace(DEMAND, product_name="H100"))
    assert not result.is_product_known
    assert result.dearest is None


def test_a_region_that_the_cloud_does_not_have_is_named() -> None:
    result = planned([at("cn-hk-1")], path=Route(("XX-NO-1", "CN-HK-1")))
    assert against(result)["XX-NO-1", None] is LeftOutReason.UNKNOWN_REGION
    assert found(result) == [("cn-hk-1", "4090")]


def test_a_month_is_chosen_and_capped_by_its_price_per_hour() -> None:
    monthly = Sale(None, BillingMode.MONTHLY)
    dear = replace(a_product("dear", "cn-hk-1", sale=monthly), monthly_prices={1: Usd(14_401)})
    cheap = replace(a_product("cheap", "cn-hk-1", sale=monthly), monthly_prices={1: Usd(14_400)})
    other_term = replace(a_product("other", "cn-hk-1", sale=monthly), monthly_prices={3: Usd(1)})
    demand = replace(DEMAND, billing_mode=BillingMode.MONTHLY, months=1, max_price_per_hour=Usd(20))
    result = planned([dear, cheap, other_term], demand)

    assert found(result) == [("cn-hk-1", "cheap")]
    assert result.candidates[0].price_per_hour == Usd(20)
    assert against(result)["CN-HK-1", "dear"] is LeftOutReason.OVER_PRICE_CAP
    assert against(result)["CN-HK-1", "other"] is LeftOutReason.NOT_SOLD_SO


def test_a_term_is_paid_at_once_for_all_gpus_and_within_the_most_that_it_may_cost() -> None:
    monthly = Sale(None, BillingMode.MONTHLY)
    sold = replace(a_product("sold", "cn-hk-1", sale=monthly), monthly_prices={1: Usd(14_400)})
    demand = replace(DEMAND, billing_mode=BillingMode.MONTHLY, months=1, gpus=2, max_cost=Usd(28_800))
    assert [offer.prepaid for offer in planned([sold], demand).candidates] == [Usd(28_800)]
    too_dear = planned([sold], replace(demand, max_cost=Usd(28_799)))
    assert against(too_dear)["CN-HK-1", "sold"] is LeftOutReason.OVER_COST_CAP


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (CONFIGURED, ("CN-HK-01", "AS-SGP-02", "CN-HK-01", "AS-IN-01")),
        (replace(CONFIGURED, preferred="us-ca-6"), ("us-ca-6", "AS-SGP-02", "CN-HK-01", "AS-IN-01")),
        (replace(CONFIGURED, asked=("b", "a")), ("b", "a")),
        (replace(CONFIGURED, preferred="c", asked=("b", "a")), ("c", "b", "a")),
    ],
)
def test_the_route_follows_the_request_before_the_configuration(
    wish: RegionWish, words: tuple[str, ...]
) -> None:
    assert route(wish) == Route(words)
    assert route(replace(wish, is_anywhere=True)) == Route(is_anywhere=True)


sales = st.builds(
    Sale,
    st.none() | st.integers(1, 100),
    st.sampled_from(BillingMode),
    st.booleans(),
    st.sampled_from(Inventory),
)
products = st.lists(
    st.builds(
        a_product,
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([region.id for region in REGIONS]),
        st.sampled_from(["RTX 4090 24GB", "RTX 4090 24GB Ti", "H100"]),
        sales,
    ),
    max_size=12,
)
routes = st.just(Route(is_anywhere=True)) | st.lists(
    st.sampled_from(["AS-IN-1", "us-ca-6", "CN-HK-1 (Somewhere)", "nowhere"]), max_size=5
).map(lambda words: Route(tuple(words)))
demands = st.builds(
    Demand,
    st.sampled_from(["RTX 4090 24GB", "rtx 4090", "H100", "A100"]),
    st.integers(1, 8),
    st.sampled_from([BillingMode.SPOT, BillingMode.ON_DEMAND]),
    st.integers(10, 1000),
    max_price_per_hour=st.none() | st.integers(1, 400).map(Usd),
)


@given(products, routes, demands, st.sets(st.sampled_from(["a", "b"])))
def test_every_plan_keeps_the_cap_the_order_and_explains_every_region(
    sold: list[Product], path: Route, demand: Demand, out: set[str]
) -> None:
    memory = frozenset(OfferKey(each, "us-ca-6", demand.billing_mode) for each in out)
    result = plan(demand, path, Market(REGIONS, sold, memory))
    candidates = result.candidates

    for offer in candidates:
        assert offer.product.is_deployable
        assert offer.product.billing_mode is demand.billing_mode
        assert offer_key(offer) not in memory
        assert demand.max_price_per_hour is None or offer.price_per_hour <= demand.max_price_per_hour
    for region in REGIONS:
        here = [offer.price_per_hour for offer in candidates if offer.region == region]
        assert here == sorted(here)
        assert here or region.code in {each.region for each in result.left_out}
    if path.is_anywhere:
        prices = [offer.price_per_hour for offer in candidates]
        assert prices == sorted(prices)
    else:
        visited = [offer.region.id for offer in candidates]
        assert visited == sorted(visited, key=visited.index)
    assert result.is_product_known or not candidates
