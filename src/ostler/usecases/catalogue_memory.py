"""The catalogue's memory: what was read of the cloud is kept in the database and known again after a restart.

What is recalled counts as old: the cloud is asked anew, and only while it does not answer is this served,
with its age. Nobody waits for the writing: it comes after the answer. Templates are kept sealed, because
their environment may hold secrets.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.cloud.catalogue import Catalogue
from ostler.domain.catalogue import Product, Region
from ostler.domain.templates import TemplateSheet, TemplateVerdict, judged
from ostler.store.catalogue_snapshots import SEALED_KEYS, Snapshot, all_snapshots, put_snapshot
from ostler.store.database import Database, StoreUnavailable
from ostler.store.sealing import SealBroken, Sealer

_AGAIN_S = 5.0
_REGIONS = "regions"
_PRODUCTS = "products/"


class CatalogueMemory:
    """Follows a catalogue; see the module."""

    def __init__(self, catalogue: Catalogue, database: Database, sealer: Sealer) -> None:
        self._kept = catalogue.kept
        self._database = database
        self._sealer = sealer
        self._regions = TypeAdapter(tuple[Region, ...])
        self._products = TypeAdapter(tuple[Product, ...])
        self._sheets = TypeAdapter(tuple[TemplateSheet, ...])
        self._sheet = TypeAdapter(TemplateSheet)
        self._pending: dict[str, Snapshot] = {}
        self._has_news = asyncio.Event()
        self._kept.regions.follow(self._note_regions)
        self._kept.products.follow(self._note_products)
        self._kept.templates.follow(self._note_templates)

    async def recall(self) -> None:
        """Give the catalogue what it knew before."""
        recalling: Mapping[str, Callable[[Snapshot], None]] = {
            _REGIONS: self._recall_regions,
            _PRODUCTS: self._recall_products,
            SEALED_KEYS: self._recall_templates,
        }
        for snapshot in await self._database.read(all_snapshots):
            for prefix, recall in recalling.items():
                if snapshot.key.startswith(prefix):
                    try:
                        recall(snapshot)
                    except (ValueError, SealBroken):
                        continue  # kept by another version, or sealed with another key: as good as nothing

    async def keep(self) -> None:
        """Write what was noted since the last time."""
        self._has_news.clear()
        taken, self._pending = self._pending, {}

        def write(connection: Connection) -> None:
            for snapshot in taken.values():
                put_snapshot(connection, snapshot)

        try:
            if taken:
                await self._database.write(write)
        except StoreUnavailable:
            self._pending = taken | self._pending
            raise

    async def keep_on(self, clock: Clock) -> None:
        """Write whatever is noted, until cancelled."""
        while True:
            await self._has_news.wait()
            try:
                await self.keep()
            except StoreUnavailable:
                self._has_news.set()
                await clock.sleep(_AGAIN_S)

    def _note(self, key: str, content: str, at: datetime) -> None:
        self._pending[key] = Snapshot(key, content, at)
        self._has_news.set()

    def _note_regions(self, _: str, regions: tuple[Region, ...], at: datetime) -> None:
        self._note(_REGIONS, self._regions.dump_json(regions).decode(), at)

    def _recall_regions(self, snapshot: Snapshot) -> None:
        regions = self._regions.validate_json(snapshot.content)
        self._kept.regions.recall("all", regions, snapshot.taken_at)

    def _note_products(self, key: str, products: tuple[Product, ...], at: datetime) -> None:
        region_id, mode, gpus = key.rsplit(":", 2)
        self._note(f"{_PRODUCTS}{mode}/{gpus}/{region_id}", self._products.dump_json(products).decode(), at)

    def _recall_products(self, snapshot: Snapshot) -> None:
        mode, gpus, region_id = snapshot.key.removeprefix(_PRODUCTS).split("/", 2)
        products = self._products.validate_json(snapshot.content)
        self._kept.products.recall(f"{region_id}:{mode}:{gpus}", products, snapshot.taken_at)

    def _note_templates(self, key: str, verdicts: tuple[TemplateVerdict, ...], at: datetime) -> None:
        sheets = tuple(verdict.sheet for verdict in verdicts)
        plain = self._sheets.dump_json(sheets) if _is_list(key) else self._sheet.dump_json(sheets[0])
        self._note(SEALED_KEYS + key, self._sealer.seal(plain).decode("ascii"), at)

    def _recall_templates(self, snapshot: Snapshot) -> None:
        key = snapshot.key.removeprefix(SEALED_KEYS)
        plain = self._sealer.open(snapshot.content.encode("ascii"))
        sheets = self._sheets.validate_json(plain) if _is_list(key) else (self._sheet.validate_json(plain),)
        self._kept.templates.recall(key, tuple(judged(sheet) for sheet in sheets), snapshot.taken_at)


@asynccontextmanager
async def remembering(memory: CatalogueMemory, clock: Clock) -> AsyncIterator[None]:
    """Recall, and keep what is read while the block lasts."""
    await memory.recall()
    keeping = asyncio.create_task(memory.keep_on(clock), name="keep the catalogue")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, memory.keep(), return_exceptions=True)


def _is_list(key: str) -> bool:
    return key.startswith("channel:")
