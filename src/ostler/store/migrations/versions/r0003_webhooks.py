"""Revision 0003: webhooks.

The endpoints that events are sent to, and the deliveries to them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SUBSCRIBES = sa.text("origin <> 'implicit'")
_IS_OPEN = sa.text("status IN ('waiting', 'sending')")
_IS_WAITING = sa.text("status = 'waiting'")
_IS_SENDING = sa.text("status = 'sending'")
_IS_FINISHED = sa.text("finished_at IS NOT NULL")


def upgrade() -> None:
    """Make both tables."""
    _endpoints()
    _deliveries()
    _delivery_indexes()


def _endpoints() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=True),
        sa.Column("project", sa.String(), nullable=True),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_endpoints")),
    )
    op.create_index(
        "ix_webhook_endpoints_subscribes",
        "webhook_endpoints",
        ["id"],
        sqlite_where=_SUBSCRIBES,
        postgresql_where=_SUBSCRIBES,
    )
    op.create_index("ix_webhook_endpoints_listed", "webhook_endpoints", ["created_at", "id"])


def _deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("endpoint_id", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=True),
        sa.Column("instance_id", sa.String(), nullable=True),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.Column("project", sa.String(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("round_attempts", sa.Integer(), nullable=False),
        sa.Column("give_up_at", sa.BigInteger(), nullable=True),
        sa.Column("held_until", sa.BigInteger(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "(status = 'waiting') = (next_attempt_at IS NOT NULL)",
            name=op.f("ck_webhook_deliveries_waits_for_an_instant"),
        ),
        sa.CheckConstraint(
            "(status = 'sending') = (lease_owner IS NOT NULL)",
            name=op.f("ck_webhook_deliveries_sends_under_a_lease"),
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["webhook_endpoints.id"],
            name=op.f("fk_webhook_deliveries_endpoint_id_webhook_endpoints"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
        sqlite_autoincrement=True,
    )


def _delivery_indexes() -> None:
    indexes = (
        ("next", ["next_attempt_at"], _IS_WAITING),
        ("due", ["endpoint_id", "next_attempt_at"], _IS_WAITING),
        ("line", ["endpoint_id", "instance_id", "id"], _IS_OPEN),
        ("leased", ["lease_until", "endpoint_id"], _IS_SENDING),
        ("finished", ["finished_at"], _IS_FINISHED),
        ("endpoint", ["endpoint_id", "id"], None),
        ("instance", ["instance_id", "id"], None),
    )
    for name, columns, where in indexes:
        op.create_index(
            f"ix_webhook_deliveries_{name}",
            "webhook_deliveries",
            columns,
            sqlite_where=where,
            postgresql_where=where,
        )
