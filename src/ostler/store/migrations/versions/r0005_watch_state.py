"""Revision 0005: what the watcher knows.

One row: the trusted key, suspicions, the last pass, the passes that were asked for.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "watch_state",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("key_digest", sa.String(), nullable=True),
        sa.Column("suspicion", sa.String(), nullable=True),
        sa.Column("suspect_count", sa.Integer(), nullable=False),
        sa.Column("confirmed_count", sa.Integer(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("served", sa.BigInteger(), nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=True),
        sa.Column("took_us", sa.BigInteger(), nullable=True),
        sa.Column("interval_us", sa.BigInteger(), nullable=True),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("upstreams", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        sa.Column("missing", sa.Text(), nullable=False),
        sa.Column("confirmed_at", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_state")),
        sa.CheckConstraint("id = 1", name=op.f("ck_watch_state_is_one")),
    )
