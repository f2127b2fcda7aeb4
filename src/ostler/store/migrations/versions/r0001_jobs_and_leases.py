"""Revision 0001: the table of durable work and the table of named leases.

Written with the first version; there is nothing before it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_IS_OPEN = sa.text("status IN ('waiting', 'running')")
_IS_WAITING = sa.text("status = 'waiting'")
_IS_RUNNING = sa.text("status = 'running'")
_IS_FINISHED = sa.text("finished_at IS NOT NULL")


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "jobs",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "status <> 'waiting' OR due_at IS NOT NULL", name=op.f("ck_jobs_waits_for_an_instant")
        ),
        sa.CheckConstraint(
            "(status = 'running') = (lease_owner IS NOT NULL)", name=op.f("ck_jobs_runs_under_a_lease")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    indexes = (
        ("uq_jobs_open", ["kind", "subject", "generation"], _IS_OPEN),
        ("ix_jobs_due", ["priority", "due_at"], _IS_WAITING),
        ("ix_jobs_leased", ["lease_until"], _IS_RUNNING),
        ("ix_jobs_finished", ["finished_at"], _IS_FINISHED),
    )
    for name, columns, where in indexes:
        op.create_index(
            name, "jobs", columns, unique=name.startswith("uq"), sqlite_where=where, postgresql_where=where
        )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
