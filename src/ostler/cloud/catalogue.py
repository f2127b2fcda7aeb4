"""The catalogue: what the cloud sells and where, what can be run on it, read through the caches.

Every answer says when it was observed and whether it is stale. Regions are read in parallel, and one that
cannot be read does not hide the others. Called by routes (in the user lane) and by jobs; decides nothing:
which offer is taken is the domain's business.
"""

import asyncio
import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ostler.clock import Clock
from ostler.cloud.caches import PATIENCE_S, Caches, CacheStats, Kept, NamedCache, Wish
from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import CloudRefusal
from ostler.domain.catalogue import (
    BillingMode,
    Channel,
    Offer,
    Product,
    Region,
    RegistryAuth,
    cheapest_offers,
    products_called,
    region_called,
)
from ostler.domain.templates import TemplateVerdict, judged

_ALL = "all"


@dataclass(frozen=True, slots=True)
class Lives:
    """How long what was read is believed, in seconds."""

    products_s: float = 300
    templates_s: float = 600
    regions_s: float = 3600


@dataclass(frozen=True, slots=True)
class ProductBoard:
    """What is sold in some regions; `failures` are the regions that could not be read, and why."""

    products: tuple[Product, ...]
    regions: tuple[Region, ...]  # those asked for
    failures: Mapping[str, str]  # region id → why
    observed_at: datetime  # the oldest part
    is_stale: bool
    was_cached: bool


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: in which lane, and how old an answer may be for them even within its life."""

    lane: Lane = Lane.USER
    max_age_s: float = math.inf


ANYBODY = Reader()


@dataclass(frozen=True, slots=True)
class OfferQuery:
    """What somebody wants to rent; no regions means all of them."""

    product_name: str | None = None  # exact, else part of the name in any case; None: all products
    gpus: int = 1
    billing_mode: BillingMode = BillingMode.SPOT
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferBoard:
    """What can be had now, cheapest first, and the board of products that it was drawn from."""

    offers: tuple[Offer, ...]
    board: ProductBoard


@dataclass(frozen=True, slots=True)
class CatalogueCaches:
    """What a catalogue has read, for who keeps it over restarts."""

    regions: NamedCache[tuple[Region, ...]]
    products: NamedCache[tuple[Product, ...]]
    templates: NamedCache[tuple[TemplateVerdict, ...]]


class Catalogue:
    """Reads the market of one cloud."""

    def __init__(self, cloud: Cloud, caches: Caches, clock: Clock, lives: Lives | None = None) -> None:
        lives = lives or Lives()
        self._cloud = cloud
        self._clock = clock
        self._regions = NamedCache[tuple[Region, ...]]("regions", lives.regions_s, 1, clock)
        self._products = NamedCache[tuple[Product, ...]]("products", lives.products_s, 512, clock)
        self._templates = NamedCache[tuple[TemplateVerdict, ...]]("templates", lives.templates_s, 512, clock)
        self._auths = NamedCache[tuple[RegistryAuth, ...]]("registryAuths", lives.templates_s, 1, clock)
        self._offers = _OffersView(self._products)
        self.patience_s = PATIENCE_S
        self.kept = CatalogueCaches(self._regions, self._products, self._templates)
        for view in (self._products, self._offers, self._templates, self._regions, self._auths):
            caches.register(view)

    def at_once(self) -> "Catalogue":
        """Return this catalogue for who only looks: what is known is answered without waiting for newer."""
        face = copy.copy(self)
        face.patience_s = 0.0
        return face

    async def regions(self, *, lane: Lane = Lane.USER) -> Kept[tuple[Region, ...]]:
        """Return the cloud's regions."""

        async def load() -> tuple[Region, ...]:
            return tuple(await self._cloud.regions(lane=lane))

        return await self._regions.get(_ALL, load, wish=Wish(self.patience_s))

    async def region(self, word: str, *, lane: Lane = Lane.USER) -> Region | None:
        """Return the region that a person's word means: its id, code or name."""
        return region_called((await self.regions(lane=lane)).value, word)

    async def products(
        self,
        mode: BillingMode,
        gpus: int = 1,
        regions: Sequence[Region] = (),
        *,
        reader: Reader = ANYBODY,
    ) -> ProductBoard:
        """Return what is sold, sold out or not; no regions means all of them."""
        asked = tuple(regions) or (await self.regions(lane=reader.lane)).value
        answers = await asyncio.gather(*(self._sold_in(region, mode, gpus, reader) for region in asked))
        read = [answer for answer in answers if isinstance(answer, Kept)]
        refusals = {
            region.id: answer
            for region, answer in zip(asked, answers, strict=True)
            if isinstance(answer, CloudRefusal)
        }
        if refusals and not read:
            raise next(iter(refusals.values()))
        return ProductBoard(
            products=tuple(product for part in read for product in part.value),
            regions=asked,
            failures={region_id: str(refusal) for region_id, refusal in refusals.items()},
            observed_at=min((part.observed_at for part in read), default=self._clock.now()),
            is_stale=any(part.is_stale for part in read),
            was_cached=all(part.was_cached for part in read),
        )

    async def offers(self, query: OfferQuery, *, lane: Lane = Lane.USER) -> OfferBoard:
        """Return what can be had now, cheapest first."""
        board = await self.products(query.billing_mode, query.gpus, query.regions, reader=Reader(lane))
        self._offers.count(was_cached=board.was_cached)
        products: Sequence[Product] = board.products
        if query.product_name is not None:
            products = products_called(products, query.product_name)
        return OfferBoard(tuple(cheapest_offers(products, board.regions, query.gpus)), board)

    async def templates(
        self, channel: Channel, *, lane: Lane = Lane.USER
    ) -> Kept[tuple[TemplateVerdict, ...]]:
        """Return the templates of a channel, each with what is wrong with it."""

        async def load() -> tuple[TemplateVerdict, ...]:
            return tuple(judged(sheet) for sheet in await self._cloud.templates(channel, lane=lane))

        return await self._templates.get(f"channel:{channel}", load, wish=Wish(self.patience_s))

    async def template(self, template_id: str, *, lane: Lane = Lane.USER) -> Kept[TemplateVerdict]:
        """Return one template and what is wrong with it; raise Gone when there is none."""

        async def load() -> tuple[TemplateVerdict, ...]:
            return (judged(await self._cloud.template(template_id, lane=lane)),)

        kept = await self._templates.get(template_id, load, wish=Wish(self.patience_s))
        return Kept(kept.value[0], kept.observed_at, is_stale=kept.is_stale, was_cached=kept.was_cached)

    async def registry_auth(self, auth_id: str, *, lane: Lane = Lane.USER) -> RegistryAuth | None:
        """Return an account's registry credentials by id, without the credentials."""
        kept = await self._registry_auths(lane)
        if kept.was_cached and not any(auth.id == auth_id for auth in kept.value):
            self._auths.delete(_ALL)  # it may have been added since
            kept = await self._registry_auths(lane)
        return next((auth for auth in kept.value if auth.id == auth_id), None)

    async def _registry_auths(self, lane: Lane) -> Kept[tuple[RegistryAuth, ...]]:
        async def load() -> tuple[RegistryAuth, ...]:
            return tuple(await self._cloud.registry_auths(lane=lane))

        return await self._auths.get(_ALL, load, wish=Wish(self.patience_s))

    async def _sold_in(
        self, region: Region, mode: BillingMode, gpus: int, reader: Reader
    ) -> Kept[tuple[Product, ...]] | CloudRefusal:
        async def load() -> tuple[Product, ...]:
            return tuple(await self._cloud.products(region, mode, gpus, lane=reader.lane))

        try:
            wish = Wish(self.patience_s, reader.max_age_s)
            return await self._products.get(f"{region.id}:{mode}:{gpus}", load, wish=wish)
        except CloudRefusal as refusal:
            return refusal


class _OffersView:
    """Offers as a cache: drawn from the kept products each time, so that there is one truth only."""

    def __init__(self, products: NamedCache[tuple[Product, ...]]) -> None:
        self._products = products
        self._hits = self._misses = 0

    @property
    def name(self) -> str:
        """Its name in the API."""
        return "offers"

    def count(self, *, was_cached: bool) -> None:
        """Count one look-up: a hit if no product had to be read for it."""
        if was_cached:
            self._hits += 1
        else:
            self._misses += 1

    def stats(self) -> CacheStats:
        """Return what can be seen: the products' cache, with the look-ups of offers."""
        below = self._products.stats()
        return CacheStats(
            name=self.name,
            size=below.size,
            max_size=below.max_size,
            life_s=below.life_s,
            hits=self._hits,
            misses=self._misses,
            sets=below.sets,
            evictions=below.evictions,
        )

    def clear(self) -> int:
        """Forget the products."""
        return self._products.clear()

    def delete(self, key: str) -> bool:
        """Forget the products of one region, mode and number of GPUs."""
        return self._products.delete(key)

    def cleanup(self) -> int:
        """Leave it to the products' own cleaning."""
        return 0
