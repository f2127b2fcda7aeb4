"""Revision 0002: instances and all that is kept about them.

Their operations, attempts and events, what the cloud showed of them; this installation's id.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _installations()
    _instances()
    _searches()
    _operations()
    _attempts()
    _events()


def _installations() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.SmallInteger(), nullable=False, autoincrement=False),
        sa.Column("install_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
        sa.CheckConstraint("id = 1", name=op.f("ck_installation_is_one")),
    )
    op.create_table(
        "adopted_installs",
        sa.Column("install_id", sa.String(), nullable=False),
        sa.Column("adopted_at", sa.BigInteger(), nullable=False),
        sa.Column("adopted_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("install_id", name=op.f("pk_adopted_installs")),
    )


def _instances() -> None:
    op.create_table(
        "instances",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=True),
        sa.Column("region", sa.String(), nullable=True),
        sa.Column("product_name", sa.String(), nullable=False),
        sa.Column("template_id", sa.String(), nullable=False),
        sa.Column("gpus", sa.SmallInteger(), nullable=False),
        sa.Column("billing_mode", sa.String(), nullable=False),
        sa.Column("price_units_per_hour", sa.BigInteger(), nullable=True),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=True),
        sa.Column("wanted", sa.String(), nullable=False),
        sa.Column("upstream_id", sa.String(), nullable=True),
        sa.Column("predecessor_id", sa.String(), nullable=True),
        sa.Column("upstream_state", sa.String(), nullable=True),
        sa.Column("upstream_word", sa.String(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=True),
        sa.Column("command", sa.Text(), nullable=True),
        sa.Column("placed_at", sa.BigInteger(), nullable=True),
        sa.Column("starts", sa.Integer(), nullable=False),
        sa.Column("start_began_at", sa.BigInteger(), nullable=True),
        sa.Column("health", sa.Text(), nullable=True),
        sa.Column("failed_probes", sa.Integer(), nullable=False),
        sa.Column("ready_at", sa.BigInteger(), nullable=True),
        sa.Column("first_ready_at", sa.BigInteger(), nullable=True),
        sa.Column("stop_reason", sa.String(), nullable=True),
        sa.Column("reclaim_at", sa.BigInteger(), nullable=True),
        sa.Column("is_reclaimed", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("envs", sa.LargeBinary(), nullable=True),
        sa.Column("placement", sa.Text(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instances")),
        sa.UniqueConstraint("predecessor_id", name=op.f("uq_instances_predecessor_id")),
        sa.UniqueConstraint("upstream_id", name=op.f("uq_instances_upstream_id")),
    )
    op.create_index(
        "ix_instances_living_name",
        "instances",
        ["name"],
        sqlite_where=sa.text("state <> 'terminated'"),
        postgresql_where=sa.text("state <> 'terminated'"),
    )
    op.create_index("ix_instances_name", "instances", ["name", "id"])
    op.create_index("ix_instances_project", "instances", ["project", "id"])
    op.create_index("ix_instances_region", "instances", ["region", "id"])
    op.create_index("ix_instances_state", "instances", ["state", "id"])


def _searches() -> None:
    op.create_table(
        "instance_labels",
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", "key", name=op.f("pk_instance_labels")),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["instances.id"], name=op.f("fk_instance_labels_instance_id_instances")
        ),
    )
    op.create_index("ix_instance_labels_key_value", "instance_labels", ["key", "value", "instance_id"])
    op.create_table(
        "looks",
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("upstream_id", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("passwords", sa.LargeBinary(), nullable=True),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_looks")),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["instances.id"], name=op.f("fk_looks_instance_id_instances")
        ),
    )
    op.create_table(
        "health_reports",
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("overall", sa.String(), nullable=False),
        sa.Column("endpoints", sa.Text(), nullable=False),
        sa.Column("failed_rounds", sa.Integer(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_health_reports")),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["instances.id"], name=op.f("fk_health_reports_instance_id_instances")
        ),
    )


def _operations() -> None:
    op.create_table(
        "operations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("phases", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("asked_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operations")),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["instances.id"], name=op.f("fk_operations_instance_id_instances")
        ),
    )
    op.create_index("ix_operations_instance", "operations", ["instance_id", "opened_at"])
    op.create_index(
        "uq_operations_open",
        "operations",
        ["instance_id"],
        unique=True,
        sqlite_where=sa.text("outcome IS NULL"),
        postgresql_where=sa.text("outcome IS NULL"),
    )


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("upstream_name", sa.String(), nullable=False),
        sa.Column("product_id", sa.String(), nullable=False),
        sa.Column("region_id", sa.String(), nullable=False),
        sa.Column("billing_mode", sa.String(), nullable=False),
        sa.Column("price_units_per_hour", sa.BigInteger(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("product_name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("deadline_at", sa.BigInteger(), nullable=True),
        sa.Column("answer", sa.String(), nullable=True),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("upstream_id", sa.String(), nullable=True),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("intended_at", sa.BigInteger(), nullable=False),
        sa.Column("called_at", sa.BigInteger(), nullable=True),
        sa.Column("looks", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", "number", name=op.f("pk_attempts")),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["instances.id"], name=op.f("fk_attempts_instance_id_instances")
        ),
    )
    op.create_index(
        "ix_attempts_sold_out",
        "attempts",
        ["answered_at"],
        sqlite_where=sa.text("answer = 'no capacity'"),
        postgresql_where=sa.text("answer = 'no capacity'"),
    )
    op.create_index(
        "uq_attempts_upstream_id",
        "attempts",
        ["upstream_id"],
        unique=True,
        sqlite_where=sa.text("upstream_id IS NOT NULL"),
        postgresql_where=sa.text("upstream_id IS NOT NULL"),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("instance_id", sa.String(), nullable=True),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.Column("project", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("from_state", sa.String(), nullable=True),
        sa.Column("to_state", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("is_alarm", sa.Boolean(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("operation_id", sa.String(), nullable=True),
        sa.Column("elapsed_us", sa.BigInteger(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_events_instance", "events", ["instance_id", "sequence"], unique=True)
    op.create_table(
        "idempotency",
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("route", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("body_hash", sa.String(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("holder", "route", "key", name=op.f("pk_idempotency")),
    )
    op.create_index("ix_idempotency_answered_at", "idempotency", ["answered_at"])
