"""The table of attempts: every try to create an instance at an offer, written down before the call.

An attempt moves by compare-and-set on its state and owner, so that of two who would send the same create
one wins. The looks that were taken for a lost answer are kept with it, so that settling survives a
restart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    RowMapping,
    String,
    Table,
    bindparam,
    insert,
    select,
    text,
    update,
)

from ostler.domain.attempts import OPEN_STATES, Answer, Attempt, AttemptState, Look
from ostler.domain.catalogue import BillingMode
from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey
from ostler.store.encoded import Encoded
from ostler.store.instants import Instant
from ostler.store.schema import metadata

_HAS_UPSTREAM = text("upstream_id IS NOT NULL")
_SOLD_OUT = text("answer = 'no capacity'")

attempts = Table(
    "attempts",
    metadata,
    Column("instance_id", String, ForeignKey("instances.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("upstream_name", String, nullable=False),
    Column("product_id", String, nullable=False),
    Column("region_id", String, nullable=False),
    Column("billing_mode", String, nullable=False),
    Column("price_units_per_hour", BigInteger, nullable=False),
    Column("region", String, nullable=False),  # its code, for people
    Column("product_name", String, nullable=False),
    Column("state", String, nullable=False),
    Column("owner", String, nullable=True),
    Column("deadline_at", Instant, nullable=True),
    Column("answer", String, nullable=True),
    Column("answered_at", Instant, nullable=True),
    Column("upstream_id", String, nullable=True),
    Column("detail", String, nullable=False),
    Column("intended_at", Instant, nullable=False),
    Column("called_at", Instant, nullable=True),
    Column("looks", Encoded(tuple[Look, ...]), nullable=False),
    Column("prepaid_units", BigInteger, nullable=True),
    Index(
        "uq_attempts_upstream_id",
        "upstream_id",
        unique=True,
        sqlite_where=_HAS_UPSTREAM,
        postgresql_where=_HAS_UPSTREAM,
    ),
    Index("ix_attempts_sold_out", "answered_at", sqlite_where=_SOLD_OUT, postgresql_where=_SOLD_OUT),
)


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt, and what is shown of it or remembered for it."""

    attempt: Attempt
    region: str
    product_name: str
    intended_at: datetime
    called_at: datetime | None = None
    looks: tuple[Look, ...] = ()
    prepaid: Usd | None = None  # what its offer costs in advance


def insert_attempt(connection: Connection, row: AttemptRow) -> None:
    """Write a new attempt; a second one of the same number is refused by the key."""
    keys = {"instance_id": row.attempt.instance_id, "number": row.attempt.number}
    connection.execute(_INSERT, _values(row) | keys)


def swap_attempt(connection: Connection, before: AttemptRow, after: AttemptRow) -> bool:
    """Write an attempt in place of what was read; False when somebody else has moved it meanwhile."""
    keys = {
        "wanted_instance": before.attempt.instance_id,
        "wanted_number": before.attempt.number,
        "old_state": before.attempt.state.value,
        "old_owner": before.attempt.owner,
    }
    return connection.execute(_SWAP, _values(after) | keys).rowcount == 1


def attempts_of(connection: Connection, instance_id: str) -> Sequence[AttemptRow]:
    """Return all attempts of an instance, oldest first."""
    return [_row(found) for found in connection.execute(_OF, {"wanted_instance": instance_id}).mappings()]


def find_attempt(connection: Connection, instance_id: str, number: int) -> AttemptRow | None:
    """Return one attempt, or None."""
    query = select(attempts).where(attempts.c.instance_id == instance_id, attempts.c.number == number)
    found = connection.execute(query).mappings().first()
    return None if found is None else _row(found)


def has_open_attempt(connection: Connection, instance_id: str) -> bool:
    """Tell whether any attempt of an instance may still make, or have made, an upstream."""
    words = [state.value for state in OPEN_STATES]
    query = select(attempts.c.number).where(
        attempts.c.instance_id == instance_id, attempts.c.state.in_(words)
    )
    return connection.execute(query.limit(1)).first() is not None


def sold_out_since(connection: Connection, since: datetime) -> frozenset[OfferKey]:
    """Return the offers that the cloud called sold out after an instant."""
    query = (
        select(attempts.c.product_id, attempts.c.region_id, attempts.c.billing_mode)
        .where(attempts.c.answer == Answer.NO_CAPACITY.value, attempts.c.answered_at > since)
        .distinct()
    )
    return frozenset(OfferKey(row[0], row[1], BillingMode(row[2])) for row in connection.execute(query))


_INSERT = insert(attempts)
_OF = (
    select(attempts).where(attempts.c.instance_id == bindparam("wanted_instance")).order_by(attempts.c.number)
)
_SWAP = update(attempts).where(
    attempts.c.instance_id == bindparam("wanted_instance"),
    attempts.c.number == bindparam("wanted_number"),
    attempts.c.state == bindparam("old_state"),
    attempts.c.owner.is_not_distinct_from(bindparam("old_owner", type_=String)),
)


def _row(found: RowMapping) -> AttemptRow:
    attempt = Attempt(
        instance_id=found["instance_id"],
        number=found["number"],
        upstream_name=found["upstream_name"],
        offer=OfferKey(found["product_id"], found["region_id"], BillingMode(found["billing_mode"])),
        price_per_hour=Usd(found["price_units_per_hour"]),
        state=AttemptState(found["state"]),
        owner=found["owner"],
        deadline_at=found["deadline_at"],
        answer=None if found["answer"] is None else Answer(found["answer"]),
        answered_at=found["answered_at"],
        upstream_id=found["upstream_id"],
        detail=found["detail"],
    )
    return AttemptRow(
        attempt,
        region=found["region"],
        product_name=found["product_name"],
        intended_at=found["intended_at"],
        called_at=found["called_at"],
        looks=found["looks"],
        prepaid=None if found["prepaid_units"] is None else Usd(found["prepaid_units"]),
    )


def _values(row: AttemptRow) -> dict[str, object]:
    attempt = row.attempt
    return {
        "upstream_name": attempt.upstream_name,
        "product_id": attempt.offer.product_id,
        "region_id": attempt.offer.region_id,
        "billing_mode": attempt.offer.billing_mode.value,
        "price_units_per_hour": attempt.price_per_hour.units,
        "region": row.region,
        "product_name": row.product_name,
        "state": attempt.state.value,
        "owner": attempt.owner,
        "deadline_at": attempt.deadline_at,
        "answer": None if attempt.answer is None else attempt.answer.value,
        "answered_at": attempt.answered_at,
        "upstream_id": attempt.upstream_id,
        "detail": attempt.detail,
        "intended_at": row.intended_at,
        "called_at": row.called_at,
        "looks": row.looks,
        "prepaid_units": None if row.prepaid is None else row.prepaid.units,
    }
