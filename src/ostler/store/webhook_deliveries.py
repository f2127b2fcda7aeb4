"""The table of deliveries: one row per event and endpoint, written in the event's own transaction.

A row keeps the body as it was at the event, the id that every attempt and replay carries, when it is next
due, and a log of the attempts. Who sends which row is in `webhook_leases.py`, what people see of it and may
do to it in `webhook_views.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    insert,
    text,
)

from ostler.store.encoded import Encoded
from ostler.store.instants import Instant, database_now
from ostler.store.schema import Key, metadata
from ostler.store.signals import announce

TOPIC = "webhooks"  # announced whenever there may be something to send


class DeliveryStatus(StrEnum):
    """Where a delivery is in its life."""

    WAITING = (
        "waiting"  # entered by the event, a failed attempt, a rescue or a replay; left when due, by a claim
    )
    SENDING = (
        "sending"  # entered by a claim; left by its holder's result, or by rescue when the lease runs out
    )
    DELIVERED = "delivered"  # the receiver took it; a replay sends it again
    FAILED = "failed"  # given up after days; a replay sends it again
    CANCELLED = "cancelled"  # a person said so, or its receiver is no more; as FAILED


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that ended."""

    at: datetime
    latency_ms: int
    status: int | None = None  # the HTTP status, if there was one
    error: str | None = None


_OPEN = text("status IN ('waiting', 'sending')")
_WAITING = text("status = 'waiting'")
_SENDING = text("status = 'sending'")
_FINISHED = text("finished_at IS NOT NULL")

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Key, primary_key=True),
    Column("endpoint_id", String, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("message_id", String, nullable=False),  # of the event: the same to every endpoint, for ever
    Column("event", String, nullable=False),
    Column("event_id", BigInteger, nullable=True),  # null: a test
    Column("instance_id", String, nullable=True),
    Column("sequence", BigInteger, nullable=True),
    Column("project", String, nullable=True),
    Column("body", Text, nullable=False),
    Column("status", String, nullable=False),
    Column("next_attempt_at", Instant, nullable=True),
    Column("attempts", Integer, nullable=False),  # begun, of all rounds
    Column("round_attempts", Integer, nullable=False),  # begun since the event, or since the last replay
    Column("give_up_at", Instant, nullable=True),  # of this round; set by its first attempt
    Column(
        "held_until", Instant, nullable=True
    ),  # until then its line waits for it; set by its very first attempt
    Column("lease_owner", String, nullable=True),
    Column("lease_epoch", BigInteger, nullable=False),  # counts claims: the fence
    Column("lease_until", Instant, nullable=True),
    Column("log", Encoded(tuple[Attempt, ...]), nullable=False),  # the last attempts, oldest first
    Column("created_at", Instant, nullable=False),
    Column("finished_at", Instant, nullable=True),
    CheckConstraint("(status = 'waiting') = (next_attempt_at IS NOT NULL)", name="waits_for_an_instant"),
    CheckConstraint("(status = 'sending') = (lease_owner IS NOT NULL)", name="sends_under_a_lease"),
    Index(
        "ix_webhook_deliveries_next",
        "next_attempt_at",
        sqlite_where=_WAITING,
        postgresql_where=_WAITING,
    ),
    Index(
        "ix_webhook_deliveries_due",
        *("endpoint_id", "next_attempt_at"),
        sqlite_where=_WAITING,
        postgresql_where=_WAITING,
    ),
    Index(
        "ix_webhook_deliveries_line",
        *("endpoint_id", "instance_id", "id"),
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    ),
    Index(
        "ix_webhook_deliveries_leased",
        *("lease_until", "endpoint_id"),
        sqlite_where=_SENDING,
        postgresql_where=_SENDING,
    ),
    Index(
        "ix_webhook_deliveries_finished",
        "finished_at",
        sqlite_where=_FINISHED,
        postgresql_where=_FINISHED,
    ),
    Index("ix_webhook_deliveries_endpoint", "endpoint_id", "id"),
    Index("ix_webhook_deliveries_instance", "instance_id", "id"),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """Something to be sent to one endpoint as soon as its line lets it."""

    endpoint_id: str
    message_id: str
    event: str
    body: str
    event_id: int | None = None
    instance_id: str | None = None
    sequence: int | None = None
    project: str | None = None


def insert_deliveries(connection: Connection, new: Sequence[NewDelivery]) -> None:
    """Write deliveries that are due at once, and wake whoever sends."""
    if new:
        connection.execute(_INSERT, [_values(each) for each in new])
        announce(connection, TOPIC)


_INSERT = insert(webhook_deliveries).values(
    status=DeliveryStatus.WAITING.value,
    next_attempt_at=database_now(),
    attempts=0,
    round_attempts=0,
    lease_epoch=0,
    log=(),
    created_at=database_now(),
)


def _values(new: NewDelivery) -> dict[str, object]:
    return {
        "endpoint_id": new.endpoint_id,
        "message_id": new.message_id,
        "event": new.event,
        "body": new.body,
        "event_id": new.event_id,
        "instance_id": new.instance_id,
        "sequence": new.sequence,
        "project": new.project,
    }
