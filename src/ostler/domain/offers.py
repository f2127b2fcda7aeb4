"""Choosing where to place an instance: the candidates in order, and everything left out with its reason.

A *candidate* is an offer that a create may be tried at. Regions come in the order of preference, offers
inside one region by price. What is sold out is remembered by the caller and comes in as a value. The plan
is what `dryRun` shows, and what a refusal lists when nothing is left.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

from ostler.domain.catalogue import (
    BillingMode,
    Inventory,
    Offer,
    Product,
    Region,
    products_called,
    region_called,
)
from ostler.domain.money import Usd

HOURS_PER_MONTH = 720


class LeftOutReason(StrEnum):
    """Why no instance is placed somewhere."""

    UNKNOWN_REGION = "the cloud has no such region"
    NOT_ASKED_FOR = "not among the regions asked for"
    NOT_SOLD_HERE = "the product is not sold in this region"
    NOT_SOLD_SO = "not sold under this billing mode"
    NOT_DEPLOYABLE = "sold out, the cloud says"
    SOLD_OUT = "sold out a moment ago"
    DISK_TOO_SMALL = "its disk cannot be as large as asked for"
    OVER_PRICE_CAP = "dearer than maxPricePerHour"
    OVER_COST_CAP = "its term, which is paid in advance, costs more than maxCost"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A region, or one product in it, that is no candidate."""

    region: str  # its code, or the word that was asked for
    reason: LeftOutReason
    product_id: str | None = None
    price_per_hour: Usd | None = None


@dataclass(frozen=True, slots=True)
class Demand:
    """What is to be placed."""

    product_name: str
    gpus: int
    billing_mode: BillingMode
    rootfs_gb: int
    months: int = 0
    max_price_per_hour: Usd | None = None  # for all GPUs together
    max_cost: Usd | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The regions to try, in order, as words of a person; `is_anywhere`: the cheapest of all regions."""

    words: tuple[str, ...] = ()
    is_anywhere: bool = False


@dataclass(frozen=True, slots=True)
class OfferKey:
    """What names an offer: to remember it as sold out, or as tried."""

    product_id: str
    region_id: str
    billing_mode: BillingMode


@dataclass(frozen=True, slots=True)
class Market:
    """What is for sale, under the demand's billing mode, and what was found sold out a moment ago."""

    regions: Sequence[Region]
    products: Sequence[Product]
    sold_out: Set[OfferKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """Where an instance may be placed, in order, and why nowhere else."""

    candidates: tuple[Offer, ...]
    left_out: tuple[LeftOut, ...]
    is_product_known: bool

    @property
    def dearest(self) -> Usd | None:
        """The most that it may cost per hour; None: there is no candidate."""
        return max((offer.price_per_hour for offer in self.candidates), default=None)


@dataclass(frozen=True, slots=True)
class RegionWish:
    """Which regions a request names, and which are configured."""

    default: str
    by_priority: tuple[str, ...]
    preferred: str | None = None  # the request's `region`
    asked: tuple[str, ...] | None = None  # the request's `regions`
    is_anywhere: bool = False


def route(wish: RegionWish) -> Route:
    """Return the regions to try: the preferred one first, then those asked for, else the configured ones."""
    if wish.is_anywhere:
        return Route(is_anywhere=True)
    if wish.asked is None:
        return Route((wish.preferred or wish.default, *wish.by_priority))
    return Route(wish.asked if wish.preferred is None else (wish.preferred, *wish.asked))


def offer_key(offer: Offer) -> OfferKey:
    """Return what names an offer."""
    return OfferKey(offer.product.id, offer.region.id, offer.product.billing_mode)


def plan(demand: Demand, path: Route, market: Market) -> Plan:
    """Return the candidates in order, and every other region and offer with the reason against it."""
    called = products_called(market.products, demand.product_name)
    candidates: list[Offer] = []
    left_out: list[LeftOut] = []
    for region in _in_order(path, market.regions):
        if isinstance(region, LeftOut):
            left_out.append(region)
            continue
        here = [product for product in called if product.region_id == region.id]
        found = [_judged(product, region, demand, market.sold_out) for product in here]
        candidates += _by_price(found)
        left_out += [verdict for verdict in found if isinstance(verdict, LeftOut)]
        if not here:
            left_out.append(LeftOut(region.code, LeftOutReason.NOT_SOLD_HERE))
    ordered = _by_price(candidates) if path.is_anywhere else candidates
    return Plan(tuple(ordered), tuple(left_out), is_product_known=bool(called))


def _in_order(path: Route, regions: Sequence[Region]) -> Iterator[Region | LeftOut]:
    if path.is_anywhere:
        yield from regions
        return
    tried: set[str] = set()
    for word in path.words:
        region = region_called(regions, word)
        if region is None:
            yield LeftOut(word, LeftOutReason.UNKNOWN_REGION)
        elif region.id not in tried:
            tried.add(region.id)
            yield region
    yield from (
        LeftOut(region.code, LeftOutReason.NOT_ASKED_FOR) for region in regions if region.id not in tried
    )


def _judged(product: Product, region: Region, demand: Demand, sold_out: Set[OfferKey]) -> Offer | LeftOut:
    unit_price = _price_per_gpu_hour(product, demand)
    if unit_price is None:
        return LeftOut(region.code, LeftOutReason.NOT_SOLD_SO, product.id)
    offer = Offer(product, region, demand.gpus, unit_price, _prepaid(product, demand))
    against = _objection(offer, demand, sold_out)
    if against is None:
        return offer
    return LeftOut(region.code, against, product.id, offer.price_per_hour)


def _objection(offer: Offer, demand: Demand, sold_out: Set[OfferKey]) -> LeftOutReason | None:
    product, cap = offer.product, demand.max_price_per_hour
    if not product.is_deployable or product.inventory is Inventory.NONE:
        return LeftOutReason.NOT_DEPLOYABLE
    if 0 < product.max_rootfs_gb < demand.rootfs_gb:
        return LeftOutReason.DISK_TOO_SMALL
    if cap is not None and offer.price_per_hour > cap:
        return LeftOutReason.OVER_PRICE_CAP
    if demand.max_cost is not None and offer.prepaid is not None and offer.prepaid > demand.max_cost:
        return LeftOutReason.OVER_COST_CAP
    return LeftOutReason.SOLD_OUT if offer_key(offer) in sold_out else None


def _price_per_gpu_hour(product: Product, demand: Demand) -> Usd | None:
    if product.billing_mode is not demand.billing_mode:
        return None
    if demand.billing_mode is not BillingMode.MONTHLY:
        return product.price_per_gpu_hour
    term = product.monthly_prices.get(demand.months)
    if term is None:
        return None
    hours = demand.months * HOURS_PER_MONTH
    return Usd(-(-term.units // hours))


def _prepaid(product: Product, demand: Demand) -> Usd | None:
    term = product.monthly_prices.get(demand.months)
    return None if demand.billing_mode is not BillingMode.MONTHLY or term is None else term * demand.gpus


def _by_price(found: Iterable[Offer | LeftOut]) -> list[Offer]:
    offers = [each for each in found if isinstance(each, Offer)]
    return sorted(offers, key=lambda offer: (offer.price_per_hour, offer.region.id, offer.product.id))
