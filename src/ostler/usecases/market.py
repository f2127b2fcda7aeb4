"""What a create needs of the catalogue, also when the cloud is away: regions, products, the template.

Fresh answers come through the catalogue's caches; when none comes within the patience, what
`catalogue_memory.py` has kept in the database stands in. Only a catalogue that nothing is known of at all is
a reason to refuse, with nothing stored.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError

from ostler.clock import Clock
from ostler.cloud.caches import Kept
from ostler.cloud.catalogue import ANYBODY, Catalogue, Reader
from ostler.cloud.refusals import CircuitOpen, CloudRefusal, Gone
from ostler.domain.catalogue import BillingMode, Product, Region
from ostler.domain.errors import Missing, Thing
from ostler.domain.templates import TemplateSheet, TemplateVerdict, judged
from ostler.store.catalogue_snapshots import SEALED_KEYS, find_snapshot
from ostler.store.database import Database
from ostler.store.sealing import SealBroken, Sealer

T = TypeVar("T")
_Products: TypeAlias = tuple[Product, ...]
PATIENCE_S = 2.0
_ASK_AGAIN_S = 5


class CatalogueUnknown(Exception):  # noqa: N818 -- says what is so; the cloud's being away is the error
    """Nothing is known of what is asked for, and the cloud cannot be asked now: try again later."""

    def __init__(self, what: str, seen: Exception, now: datetime) -> None:
        super().__init__(f"nothing is known yet of {what}, and the cloud does not answer: {seen}")
        self.what = what
        self.retry_after_s = _ASK_AGAIN_S
        if isinstance(seen, CircuitOpen):
            self.retry_after_s = max(1, math.ceil((seen.next_try_at - now).total_seconds()))


class RegionsUnread(Exception):  # noqa: N818 -- says what is so; the cloud's being away is the error
    """Some regions could not be read."""

    def __init__(self, failures: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{region}: {why}" for region, why in failures.items()))


@dataclass(frozen=True, slots=True)
class _Shelf(Generic[T]):
    """Where one answer is kept, and how its text becomes an answer again."""

    key: str
    read: Callable[[str], T]


class Market:
    """Reads the catalogue for creates."""

    def __init__(self, catalogue: Catalogue, database: Database, sealer: Sealer, clock: Clock) -> None:
        self._catalogue = catalogue
        self._database = database
        self._sealer = sealer
        self._clock = clock
        self._regions: TypeAdapter[tuple[Region, ...]] = TypeAdapter(tuple[Region, ...])
        self._products: TypeAdapter[_Products] = TypeAdapter(_Products)
        self._sheet: TypeAdapter[TemplateSheet] = TypeAdapter(TemplateSheet)

    async def regions(self) -> tuple[Region, ...]:
        """Return the cloud's regions; raise CatalogueUnknown."""
        shelf = _Shelf("regions", self._regions.validate_json)
        return await self._fresh_or_kept(shelf, self._catalogue.regions)

    async def products(
        self, regions: Sequence[Region], mode: BillingMode, gpus: int, reader: Reader = ANYBODY
    ) -> _Products:
        """Return what these regions sell; those that nothing is known of are left out, unless it is all."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                board = await self._catalogue.products(mode, gpus, regions, reader=reader)
        except (CloudRefusal, TimeoutError) as error:
            return await self._kept_products([self._shelves(region, mode, gpus) for region in regions], error)
        unread = [self._shelves(region, mode, gpus) for region in regions if region.id in board.failures]
        if not unread:
            return board.products
        kept = await self._kept_products(unread, RegionsUnread(board.failures), is_all=False)
        return (*board.products, *kept)

    async def template(self, template_id: str) -> TemplateVerdict:
        """Return a template and what is wrong with it; raise Missing or CatalogueUnknown."""
        shelf = _Shelf(f"{SEALED_KEYS}{template_id}", self._opened)

        async def ask() -> Kept[TemplateVerdict]:
            return await self._catalogue.template(template_id)

        try:
            return await self._fresh_or_kept(shelf, ask)
        except Gone as error:
            raise Missing(Thing.TEMPLATE, template_id) from error

    def _shelf(self, region: Region, mode: BillingMode, gpus: int) -> _Shelf[_Products]:
        key = f"products/{mode}/{gpus}/{region.id}"
        return _Shelf(key, self._products.validate_json)

    def _shelves(self, region: Region, mode: BillingMode, gpus: int) -> Sequence[_Shelf[_Products]]:
        """Return where to look, best first: prices are per GPU, so one stands in for more."""
        return [self._shelf(region, mode, number) for number in dict.fromkeys((gpus, 1))]

    async def _kept_products(
        self,
        places: Sequence[Sequence[_Shelf[_Products]]],
        seen: Exception,
        *,
        is_all: bool = True,
    ) -> _Products:
        found = await asyncio.gather(*(self._first_found(shelves) for shelves in places))
        if is_all and places and all(each is None for each in found):
            raise CatalogueUnknown(places[0][0].key, seen, self._clock.now()) from seen
        return tuple(product for kept in found if kept is not None for product in kept)

    async def _fresh_or_kept(self, shelf: _Shelf[T], ask: Callable[[], Awaitable[Kept[T]]]) -> T:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return (await ask()).value
        except Gone:
            raise
        except (CloudRefusal, TimeoutError) as error:
            kept = await self._found(shelf)
            if kept is None:
                raise CatalogueUnknown(shelf.key, error, self._clock.now()) from error
            return kept

    async def _first_found(self, shelves: Sequence[_Shelf[_Products]]) -> _Products | None:
        for shelf in shelves:
            if (kept := await self._found(shelf)) is not None:
                return kept
        return None

    async def _found(self, shelf: _Shelf[T]) -> T | None:
        snapshot = await self._database.read(lambda connection: find_snapshot(connection, shelf.key))
        try:
            return None if snapshot is None else shelf.read(snapshot.content)
        except (ValidationError, SealBroken):
            return None  # kept by another version, or sealed with another key: as good as nothing

    def _opened(self, content: str) -> TemplateVerdict:
        return judged(self._sheet.validate_json(self._sealer.open(content.encode("ascii"))))
