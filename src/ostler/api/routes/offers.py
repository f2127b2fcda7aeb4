"""`/api/products` and `/api/offers`: what the cloud sells, and what of it can be had now, at which price.

A product is shown once, with its offer in every region asked for. An offer is one region's, ready to compare.
Both come from memory; `observedAt` says when the oldest part was read, `unread` which regions could not be.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from ostler.api.backing import WithCatalogue, WithPatience
from ostler.api.model import Answer, Dollars, Instant, Question
from ostler.api.routes.regions import regions_called
from ostler.cloud.catalogue import Catalogue, OfferQuery, ProductBoard
from ostler.domain.catalogue import BillingMode, Inventory, Product, Region, products_called
from ostler.domain.requests import MAX_REGIONS

MAX_GPUS = 8

router = APIRouter(prefix="/api", tags=["catalogue"])


class Sort(StrEnum):
    """By what all offers are listed, sold out or not."""

    PRICE = "price"
    NAME = "name"
    REGION = "region"


class MarketQuestion(Question):
    """Which part of the market is asked for."""

    product_name: str | None = Field(
        None, min_length=1, max_length=100, description="exact, else a part, in any case"
    )
    gpu_num: int = Field(1, ge=1, le=MAX_GPUS, description="GPUs in one instance")
    billing_mode: BillingMode = Field(BillingMode.SPOT, description="how it would be paid for")
    region: list[str] = Field(
        [], max_length=MAX_REGIONS, description="code, id or name; may be repeated; none means all"
    )


class OffersQuestion(MarketQuestion):
    """Which offers are asked for, and how they are listed."""

    sort: Sort | None = Field(
        None, description="`price` puts the cheapest first; without it, what can be had comes before the rest"
    )
    available: bool | None = Field(None, description="only what can be had now (true) or is sold out (false)")
    limit: int = Field(500, ge=1, le=500, description="offers in the answer")


class MonthlyPrice(Answer):
    """What a whole term costs, for all GPUs asked for."""

    months: int
    price: Dollars


class OfferAnswer(Answer):
    """A product in a region under a billing mode; prices are for all GPUs asked for."""

    product_id: str
    product_name: str
    region: str
    region_id: str
    region_name: str
    billing_mode: BillingMode
    gpu_num: int
    price_per_hour: Dollars | None
    price_per_gpu_hour: Dollars | None
    monthly_prices: list[MonthlyPrice]
    available: bool
    inventory: Inventory
    cpus: int
    memory_gb: int
    min_rootfs_size: int
    max_rootfs_size: int


class Unread(Answer):
    """A region that the cloud did not tell about."""

    region: str
    reason: str


class OffersAnswer(Answer):
    """Offers; unless asked otherwise those that can be had come first, the cheapest of them foremost."""

    offers: list[OfferAnswer]
    total: int
    observed_at: Instant
    stale: bool
    unread: list[Unread]


class ProductAnswer(Answer):
    """A kind of machine; prices are per hour for all GPUs asked for, the cheapest of its offers."""

    id: str
    name: str
    billing_mode: BillingMode
    gpu_num: int
    available: bool
    price_per_hour: Dollars | None
    regions: list[str]
    cpus: int
    memory_gb: int
    offers: list[OfferAnswer]


class ProductsAnswer(Answer):
    """Products by name."""

    products: list[ProductAnswer]
    total: int
    observed_at: Instant
    stale: bool
    unread: list[Unread]


@router.get("/products", summary="What the cloud sells")
async def products(
    catalogue: WithCatalogue, patience: WithPatience, question: Annotated[MarketQuestion, Query()]
) -> ProductsAnswer:
    board, found = await patience.in_time("list_products", _market(catalogue, question))
    offers = sorted(
        _offers(found, board, question.gpu_num), key=lambda each: (each.product_name, each.product_id)
    )
    answers = [_product(list(group)) for _, group in groupby(offers, key=lambda each: each.product_id)]
    return ProductsAnswer(
        products=answers,
        total=len(answers),
        observed_at=board.observed_at,
        stale=board.is_stale,
        unread=_unread(board),
    )


@router.get("/offers", summary="Where a product can be had, cheapest first")
async def offers(
    catalogue: WithCatalogue, patience: WithPatience, question: Annotated[OffersQuestion, Query()]
) -> OffersAnswer:
    board, found = await patience.in_time("list_products", _market(catalogue, question))
    offers = [
        each
        for each in _offers(found, board, question.gpu_num)
        if question.available in {None, each.available}
    ]
    return OffersAnswer(
        offers=sorted(offers, key=_ORDERS[question.sort])[: question.limit],
        total=len(offers),
        observed_at=board.observed_at,
        stale=board.is_stale,
        unread=_unread(board),
    )


async def _market(catalogue: Catalogue, question: MarketQuestion) -> tuple[ProductBoard, Sequence[Product]]:
    regions = await regions_called(question.region, catalogue)
    offers = await catalogue.offers(
        OfferQuery(question.product_name, question.gpu_num, question.billing_mode, regions)
    )
    products = offers.board.products
    if question.product_name is None:
        return offers.board, products
    return offers.board, products_called(products, question.product_name)


def _offers(products: Iterable[Product], board: ProductBoard, gpus: int) -> list[OfferAnswer]:
    regions = {region.id: region for region in board.regions}
    return [_offer(product, regions, gpus) for product in products]


def _offer(product: Product, regions: Mapping[str, Region], gpus: int) -> OfferAnswer:
    region = regions[product.region_id]
    price = product.price_per_gpu_hour
    return OfferAnswer(
        product_id=product.id,
        product_name=product.name,
        region=region.code,
        region_id=region.id,
        region_name=region.name,
        billing_mode=product.billing_mode,
        gpu_num=gpus,
        price_per_hour=None if price is None else (price * gpus).amount,
        price_per_gpu_hour=None if price is None else price.amount,
        monthly_prices=[
            MonthlyPrice(months=months, price=(each * gpus).amount)
            for months, each in sorted(product.monthly_prices.items())
        ],
        available=product.is_deployable and price is not None,
        inventory=product.inventory,
        cpus=product.cpus_per_gpu * gpus,
        memory_gb=product.memory_gb_per_gpu * gpus,
        min_rootfs_size=product.min_rootfs_gb,
        max_rootfs_size=product.max_rootfs_gb,
    )


def _product(offers: Sequence[OfferAnswer]) -> ProductAnswer:
    best = min(offers, key=_by_use)
    return ProductAnswer(
        id=best.product_id,
        name=best.product_name,
        billing_mode=best.billing_mode,
        gpu_num=best.gpu_num,
        available=best.available,
        price_per_hour=best.price_per_hour,
        regions=[each.region for each in offers],
        cpus=best.cpus,
        memory_gb=best.memory_gb,
        offers=sorted(offers, key=_by_use),
    )


def _by_price(offer: OfferAnswer) -> tuple[object, ...]:
    price = offer.price_per_hour
    return (price is None, price or 0, offer.product_name, offer.region)


def _by_use(offer: OfferAnswer) -> tuple[object, ...]:
    return (not offer.available, *_by_price(offer))


def _by_name(offer: OfferAnswer) -> tuple[object, ...]:
    return (offer.product_name, *_by_price(offer))


def _by_region(offer: OfferAnswer) -> tuple[object, ...]:
    return (offer.region, *_by_price(offer))


_ORDERS = {None: _by_use, Sort.PRICE: _by_price, Sort.NAME: _by_name, Sort.REGION: _by_region}


def _unread(board: ProductBoard) -> list[Unread]:
    codes = {region.id: region.code for region in board.regions}
    return [Unread(region=codes[region_id], reason=why) for region_id, why in board.failures.items()]
