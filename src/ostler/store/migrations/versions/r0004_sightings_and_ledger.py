"""Revision 0004: what is seen, sold and paid.

Upstreams that are no row's own, the catalogue's last answers, the ledger, how long starts took.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _sightings()
    _money()


def _sightings() -> None:
    op.create_table(
        "sightings",
        sa.Column("upstream_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kinship", sa.String(), nullable=False),
        sa.Column("install_id", sa.String(), nullable=True),
        sa.Column("instance_id", sa.String(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("word", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("product_name", sa.String(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("price_units_per_hour", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=True),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("upstream_id", name=op.f("pk_sightings")),
    )
    op.create_index("ix_sightings_instance_id", "sightings", ["instance_id"])
    op.create_table(
        "catalogue_snapshots",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_catalogue_snapshots")),
    )


def _money() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("upstream_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("price_units_per_hour", sa.BigInteger(), nullable=False),
        sa.Column("from_at", sa.BigInteger(), nullable=False),
        sa.Column("to_at", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("uncertainty_us", sa.BigInteger(), nullable=False),
        sa.Column("replaces", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["instances.id"], name=op.f("fk_ledger_instance_id_instances")
        ),
        sa.UniqueConstraint("replaces", name=op.f("uq_ledger_replaces")),
    )
    op.create_index("ix_ledger_instance", "ledger", ["instance_id", "from_at"])
    op.create_index("ix_ledger_to_at", "ledger", ["to_at"])
    op.create_index(
        "uq_ledger_open",
        "ledger",
        ["upstream_id"],
        unique=True,
        sqlite_where=sa.text("to_at IS NULL"),
        postgresql_where=sa.text("to_at IS NULL"),
    )
    op.create_table(
        "product_starts",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("product_name", sa.String(), nullable=False),
        sa.Column("took_us", sa.BigInteger(), nullable=False),
        sa.Column("ready_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_product_starts")),
    )
    op.create_index("ix_product_starts_product", "product_starts", ["product_name", "id"])
