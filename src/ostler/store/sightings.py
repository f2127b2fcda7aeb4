"""The table of sightings: upstreams that the watcher saw and that are no row's own.

A *sighting* is kept while the upstream is listed: orphans, duplicates, upstreams of other installations,
strangers, each with its price, so that nothing that is billed goes unseen. Written by the watcher, read
by people and by the attempts that look for their mark.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    RowMapping,
    String,
    Table,
    delete,
    select,
)

from ostler.domain.kinship import Kinship
from ostler.domain.marks import Mark
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState
from ostler.store.inserting import Inserting, inserting
from ostler.store.instants import Instant
from ostler.store.revisions import Part, note_change
from ostler.store.schema import metadata

sightings = Table(
    "sightings",
    metadata,
    Column("upstream_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("kinship", String, nullable=False),
    Column("install_id", String, nullable=True),  # of the mark
    Column("instance_id", String, nullable=True),  # of the mark
    Column("attempt", Integer, nullable=True),  # of the mark
    Column("state", String, nullable=False),
    Column("word", String, nullable=False),
    Column("region", String, nullable=False),
    Column("product_name", String, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("price_units_per_hour", BigInteger, nullable=True),
    Column("created_at", Instant, nullable=True),
    Column("first_seen_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False),
    Index("ix_sightings_instance_id", "instance_id"),
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """An upstream that is no row's own, as it was last seen."""

    upstream_id: str
    name: str
    kinship: Kinship
    mark: Mark | None
    state: UpstreamState
    word: str  # the cloud's
    region: str
    product_name: str
    gpus: int
    price_per_hour: Usd | None  # of all GPUs
    created_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime


def put_sightings(connection: Connection, seen: Sequence[Sighting]) -> None:
    """Write what was seen; when an upstream was first seen stays as it is."""
    if seen:
        connection.execute(_putting(connection.dialect.name), [_values(sighting) for sighting in seen])
        note_change(connection, Part.SIGHTINGS, seen[0].upstream_id)


def drop_sightings(connection: Connection, upstream_ids: Collection[str]) -> None:
    """Forget upstreams that are gone, or have become a row's own."""
    if upstream_ids:
        gone = delete(sightings).where(sightings.c.upstream_id.in_(upstream_ids))
        if connection.execute(gone).rowcount:
            note_change(connection, Part.SIGHTINGS, min(upstream_ids))


def all_sightings(connection: Connection, kinships: Collection[Kinship] = ()) -> Sequence[Sighting]:
    """Return all that is seen and is no row's own, the longest known first."""
    query = select(sightings).order_by(sightings.c.first_seen_at, sightings.c.upstream_id)
    if kinships:
        query = query.where(sightings.c.kinship.in_([kinship.value for kinship in kinships]))
    return [_sighting(found) for found in connection.execute(query).mappings()]


def find_sighting(connection: Connection, upstream_id: str) -> Sighting | None:
    """Return one, or None."""
    query = select(sightings).where(sightings.c.upstream_id == upstream_id)
    found = connection.execute(query).mappings().first()
    return None if found is None else _sighting(found)


def sightings_of(connection: Connection, instance_id: str) -> Sequence[Sighting]:
    """Return the upstreams whose mark names an instance."""
    query = select(sightings).where(sightings.c.instance_id == instance_id).order_by(sightings.c.upstream_id)
    return [_sighting(found) for found in connection.execute(query).mappings()]


@cache
def _putting(dialect: str) -> Inserting:
    new = inserting(dialect)(sightings)
    kept = {"upstream_id", "first_seen_at"}
    changed = {column.name: new.excluded[column.name] for column in sightings.c if column.name not in kept}
    return new.on_conflict_do_update(index_elements=["upstream_id"], set_=changed)


def _sighting(found: RowMapping) -> Sighting:
    units, install_id = found["price_units_per_hour"], found["install_id"]
    mark = None if install_id is None else Mark(install_id, found["instance_id"], found["attempt"])
    plain = ("upstream_id", "name", "word", "region", "product_name", "gpus")
    instants = ("created_at", "first_seen_at", "last_seen_at")
    return Sighting(
        **{name: found[name] for name in (*plain, *instants)},
        kinship=Kinship(found["kinship"]),
        mark=mark,
        state=UpstreamState(found["state"]),
        price_per_hour=None if units is None else Usd(units),
    )


def _values(sighting: Sighting) -> dict[str, object]:
    mark, price = sighting.mark, sighting.price_per_hour
    return {
        "upstream_id": sighting.upstream_id,
        "name": sighting.name,
        "kinship": sighting.kinship.value,
        "install_id": None if mark is None else mark.install_id,
        "instance_id": None if mark is None else mark.instance_id,
        "attempt": None if mark is None else mark.attempt,
        "state": sighting.state.value,
        "word": sighting.word,
        "region": sighting.region,
        "product_name": sighting.product_name,
        "gpus": sighting.gpus,
        "price_units_per_hour": None if price is None else price.units,
        "created_at": sighting.created_at,
        "first_seen_at": sighting.first_seen_at,
        "last_seen_at": sighting.last_seen_at,
    }
