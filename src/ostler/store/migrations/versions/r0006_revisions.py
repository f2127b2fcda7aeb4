"""Revision 0006: counters of changes.

By their sums a reader knows that nothing has changed since it last looked.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "revisions",
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("counter", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("changes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("part", "counter", name=op.f("pk_revisions")),
    )
