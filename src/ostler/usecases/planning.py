"""Planning a create: where it may be placed, in which order, and why nowhere else.

Reads the market for the regions of the route, and only when they hold nothing for the whole cloud, so that a
refusal can name every region's reason. Used by `create.py` before accepting, and by the job that places.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ostler.clock import Clock
from ostler.cloud.catalogue import ANYBODY, Reader
from ostler.domain.catalogue import BillingMode, Product, Region, Template, region_called
from ostler.domain.errors import Missing, NoOfferAnywhere, RequestInvalid, TemplateUnusable, Thing
from ostler.domain.fields import FieldError
from ostler.domain.offers import Demand, OfferKey, Plan, RegionWish, Route, plan, route
from ostler.domain.offers import Market as ForSale
from ostler.domain.requests import regions_named, unknown_regions, wrong_regions
from ostler.domain.spec import InstanceSpec, resolved_rootfs_gb
from ostler.store.attempts import sold_out_since
from ostler.store.database import Database
from ostler.usecases.market import CatalogueUnknown, Market

SOLD_OUT_FOR = timedelta(minutes=2)
_HEARSAY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the settings say about where to place."""

    default_region: str = "CN-HK-01"
    by_priority: tuple[str, ...] = ("AS-SGP-02", "CN-HK-01", "AS-IN-01")


@dataclass(frozen=True, slots=True)
class Prospect:
    """A create as it could be carried out now."""

    plan: Plan
    template: Template
    rootfs_gb: int


class Planner:
    """Makes plans for specs."""

    def __init__(self, market: Market, database: Database, clock: Clock, preferences: Preferences) -> None:
        self._market = market
        self._database = database
        self._clock = clock
        self._preferences = preferences
        self._heard: Set[OfferKey] = frozenset()
        self._heard_at = datetime.min.replace(tzinfo=UTC)

    async def prospect(
        self, spec: InstanceSpec, reader: Reader = ANYBODY, *, is_binding: bool = True
    ) -> Prospect:
        """Return what could be done now, be it nothing; raise what makes the request itself wrong.

        A plan that binds nobody, for the job makes its own, may hear of sold-out offers a second late.
        How new the reader wants the stock to be counts where it may be placed.
        """
        verdict, regions = await asyncio.gather(
            self._market.template(spec.template_id), self._market.regions()
        )
        if errors := wrong_regions(spec, regions):
            raise RequestInvalid(errors)
        if verdict.template is None:
            raise TemplateUnusable(spec.template_id, verdict.problems)
        rootfs_gb = resolved_rootfs_gb(spec.rootfs_gb, verdict.template.rootfs_gb)
        sold_out = await self._sold_out(is_binding=is_binding)
        made = await self._plan(
            _demand(spec, rootfs_gb), self._route(spec), ForSale(regions, (), sold_out), reader
        )
        return Prospect(made, verdict.template, rootfs_gb)

    async def unknown_regions(self, body: Mapping[str, object]) -> Sequence[FieldError]:
        """Return an error for each region of a body that the cloud does not have, as far as that is known."""
        named = regions_named(body)
        try:
            return unknown_regions(named, await self._market.regions()) if named else ()
        except CatalogueUnknown:
            return ()

    async def _plan(self, demand: Demand, path: Route, nothing: ForSale, reader: Reader) -> Plan:
        """Return the plan for what the regions of a market with `nothing` on its shelves turn out to sell."""
        regions = nothing.regions

        async def planned(asked: Sequence[Region], reader: Reader) -> Plan:
            products = await self._market.products(asked, demand.billing_mode, demand.gpus, reader)
            return plan(demand, path, replace(nothing, products=products))

        near = _regions_of(path, regions)
        made = await planned(near, reader)
        if not made.candidates and len(near) < len(regions):
            made = await planned(regions, replace(reader, max_age_s=math.inf))
        if made.is_product_known:
            return made
        return plan(demand, path, replace(nothing, products=await self._sold_otherwise(regions, demand)))

    async def _sold_otherwise(self, regions: Sequence[Region], demand: Demand) -> Sequence[Product]:
        """Return what is sold under another billing mode: a product may be known, and not sold as asked."""
        other = BillingMode.SPOT if demand.billing_mode is BillingMode.ON_DEMAND else BillingMode.ON_DEMAND
        try:
            return await self._market.products(regions, other, demand.gpus)
        except CatalogueUnknown:
            return ()

    async def _sold_out(self, *, is_binding: bool) -> Set[OfferKey]:
        now = self._clock.now()
        if is_binding or now - self._heard_at >= _HEARSAY:
            since = now - SOLD_OUT_FOR
            self._heard = await self._database.read(lambda connection: sold_out_since(connection, since))
            self._heard_at = now
        return self._heard

    def _route(self, spec: InstanceSpec) -> Route:
        return route(
            RegionWish(
                default=self._preferences.default_region,
                by_priority=self._preferences.by_priority,
                preferred=spec.region,
                asked=spec.regions,
                is_anywhere=spec.is_anywhere,
            )
        )


def is_refused(spec: InstanceSpec, prospect: Prospect) -> bool:
    """Tell whether a create of a known product is refused for want of an offer."""
    is_without_offer = prospect.plan.is_product_known and not prospect.plan.candidates
    return is_without_offer and not spec.retry_until_available


def require_known(spec: InstanceSpec, prospect: Prospect) -> None:
    """Raise what refuses a create at once: an unknown product, or no offer where it will not wait for one."""
    if not prospect.plan.is_product_known:
        raise Missing(Thing.PRODUCT, spec.product_name)
    if is_refused(spec, prospect):
        raise NoOfferAnywhere(spec.product_name, prospect.plan.left_out)


def _regions_of(path: Route, regions: Sequence[Region]) -> Sequence[Region]:
    if path.is_anywhere:
        return regions
    found = (region_called(regions, word) for word in path.words)
    return list(dict.fromkeys(region for region in found if region is not None))


def _demand(spec: InstanceSpec, rootfs_gb: int) -> Demand:
    return Demand(
        product_name=spec.product_name,
        gpus=spec.gpus,
        billing_mode=spec.billing_mode,
        rootfs_gb=rootfs_gb,
        months=spec.months,
        max_price_per_hour=spec.max_price_per_hour,
        max_cost=spec.limits.max_cost,
    )
