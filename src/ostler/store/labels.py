"""The table of labels, one row per instance and key, so that a list can be narrowed by them quickly.

The labels themselves are part of an instance's spec; these rows repeat them for searching and are written in
the same transaction, by `instances.py` alone.
"""

from collections.abc import Mapping

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    String,
    Table,
    delete,
    insert,
    select,
)

from ostler.store.schema import metadata

labels = Table(
    "instance_labels",
    metadata,
    Column("instance_id", String, ForeignKey("instances.id"), primary_key=True),
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
    Index("ix_instance_labels_key_value", "key", "value", "instance_id"),
)


def put_labels(connection: Connection, instance_id: str, wanted: Mapping[str, str]) -> None:
    """Write the labels of a new instance."""
    if wanted:
        rows = [{"instance_id": instance_id, "key": key, "value": value} for key, value in wanted.items()]
        connection.execute(insert(labels), rows)


def replace_labels(connection: Connection, instance_id: str, wanted: Mapping[str, str]) -> None:
    """Write the labels of an instance in place of those it had."""
    connection.execute(delete(labels).where(labels.c.instance_id == instance_id))
    put_labels(connection, instance_id, wanted)


def has_label(instance_id: ColumnElement[str], key: str, value: str | None) -> ColumnElement[bool]:
    """Return the SQL condition that an instance has a label, with this value when one is given."""
    matching = select(labels.c.instance_id).where(labels.c.key == key)
    if value is not None:
        matching = matching.where(labels.c.value == value)
    return instance_id.in_(matching)
