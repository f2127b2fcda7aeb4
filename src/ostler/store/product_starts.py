"""The table of product starts: how long creates of a product took to become usable.

The last few give the median that `estimatedReadyTime` is made of; older ones are thinned as new ones come.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, Column, Connection, Index, String, Table, bindparam, delete, insert, select

from ostler.store.instants import MICROSECOND, Instant
from ostler.store.schema import Key, metadata

KEPT = 20

product_starts = Table(
    "product_starts",
    metadata,
    Column("id", Key, primary_key=True),
    Column("product_name", String, nullable=False),
    Column("took_us", BigInteger, nullable=False),
    Column("ready_at", Instant, nullable=False),
    Index("ix_product_starts_product", "product_name", "id"),
)


def add_start(connection: Connection, product_name: str, took: timedelta, ready_at: datetime) -> None:
    """Note how long a start took, and thin what is not looked at any more."""
    values = {"product_name": product_name, "took_us": took // MICROSECOND, "ready_at": ready_at}
    connection.execute(insert(product_starts), values)
    of_product = product_starts.c.product_name == product_name
    newest = select(product_starts.c.id).where(of_product).order_by(product_starts.c.id.desc()).limit(KEPT)
    connection.execute(delete(product_starts).where(of_product, product_starts.c.id.not_in(newest)))


def last_starts(connection: Connection, product_name: str) -> Sequence[timedelta]:
    """Return how long the last starts of a product took, newest last."""
    found = connection.execute(_LAST, {"wanted": product_name}).scalars()
    return [took_us * MICROSECOND for took_us in found]


_LAST = (
    select(product_starts.c.took_us)
    .where(product_starts.c.product_name == bindparam("wanted"))
    .order_by(product_starts.c.id)
)
