"""Revision 0009: what is paid in advance.

An attempt knows what its term costs, and the ledger has sums that were paid at once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add a column to both."""
    op.add_column("attempts", sa.Column("prepaid_units", sa.BigInteger(), nullable=True))
    op.add_column("ledger", sa.Column("amount_units", sa.BigInteger(), nullable=True))
