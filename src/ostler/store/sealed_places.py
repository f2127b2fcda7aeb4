"""Where sealed blobs stand: every column that has them, so that their seals can be checked and renewed.

A new column of sealed secrets is named here; a test finds one that is not. The *keystone* is the secret of
the default webhook endpoint, made at the first start of every installation. Its seal is renewed after all
others: whoever can open it can open the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, Connection, and_, select, update

from ostler.store.catalogue_snapshots import SEALED_KEYS, catalogue_snapshots
from ostler.store.instances import instances
from ostler.store.looks import looks
from ostler.store.webhook_endpoints import DEFAULT_ID, webhook_endpoints

_BATCH = 200


@dataclass(frozen=True, slots=True)
class SealedPlace:
    """A column of blobs, and the primary key of its table."""

    key: Column[str]
    content: Column[bytes] | Column[str]
    limits: ColumnElement[bool] | None = None  # which rows have blobs there; None: all that have anything


@dataclass(frozen=True, slots=True)
class SealedBlob:
    """One blob where it stands."""

    place: SealedPlace
    key: str
    sealed: bytes


_ENDPOINTS = webhook_endpoints.c
_KEYSTONE = SealedPlace(_ENDPOINTS.id, _ENDPOINTS.secret, _ENDPOINTS.id == DEFAULT_ID)
PLACES = (
    SealedPlace(instances.c.id, instances.c.envs),
    SealedPlace(looks.c.instance_id, looks.c.passwords),
    SealedPlace(
        catalogue_snapshots.c.key,
        catalogue_snapshots.c.content,
        catalogue_snapshots.c.key.startswith(SEALED_KEYS, autoescape=True),
    ),
    SealedPlace(_ENDPOINTS.id, _ENDPOINTS.secret, _ENDPOINTS.id != DEFAULT_ID),
    _KEYSTONE,  # last: see above
)


def find_keystone(connection: Connection) -> bytes | None:
    """Return the keystone; None: this installation was never started."""
    found = blobs_after(connection, _KEYSTONE)
    return found[0].sealed if found else None


def blobs_after(connection: Connection, place: SealedPlace, key: str = "") -> Sequence[SealedBlob]:
    """Return the next blobs of a place, in the order of their keys."""
    is_sealed = and_(place.content.is_not(None), place.key > key)
    limits = is_sealed if place.limits is None else and_(is_sealed, place.limits)
    query = select(place.key, place.content).where(limits).order_by(place.key).limit(_BATCH)
    found = connection.execute(query)
    return [SealedBlob(place, row_key, _as_bytes(content)) for row_key, content in found]


def all_blobs(connection: Connection) -> Iterator[SealedBlob]:
    """Yield every blob there is."""
    for place in PLACES:
        last = ""
        while batch := blobs_after(connection, place, last):
            yield from batch
            last = batch[-1].key


def replace_blob(connection: Connection, blob: SealedBlob, sealed: bytes) -> None:
    """Put another blob in place of one, unless something else stands there by now."""
    content = blob.place.content
    is_text = content.type.python_type is str
    before, after = (each.decode("ascii") if is_text else each for each in (blob.sealed, sealed))
    statement = update(content.table).where(blob.place.key == blob.key, content == before)
    connection.execute(statement.values({content.name: after}))


def _as_bytes(content: object) -> bytes:
    assert isinstance(content, bytes | str), "a sealed column is of bytes or text"
    return content.encode("ascii", "replace") if isinstance(content, str) else content
