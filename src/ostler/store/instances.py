"""The table of instances: one row each, for ever; a terminated one stays as a tombstone.

A row is the domain's `Instance` exactly, beside what only the store and readers need: the number of its last
event, where it was placed, when it was last used. Environment values are not in the spec of a row: they are
sealed in a column of their own, which is written once and read only by `sealed_envs`. Reads for lists are in
`instance_lists.py`.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    LargeBinary,
    RowMapping,
    SmallInteger,
    String,
    Table,
    bindparam,
    insert,
    select,
    text,
    update,
)

from ostler.domain.failures import Failure
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Instance
from ostler.domain.kinship import RowIdentity
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey
from ostler.domain.phases import StopReason, Wanted, phase_of
from ostler.domain.sightings import Command
from ostler.domain.spec import InstanceSpec
from ostler.domain.upstream import UpstreamState
from ostler.store.encoded import Encoded
from ostler.store.instants import Instant
from ostler.store.labels import put_labels, replace_labels
from ostler.store.revisions import Part, note_change
from ostler.store.schema import metadata

FREE = Usd(0)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an instance is: the attempt that placed it, and at which offer."""

    attempt: int
    offer: OfferKey
    region: str  # its code
    product_name: str
    price_per_hour: Usd  # of all GPUs, while it runs
    storage_price_per_hour: Usd = FREE  # of its disks, while it is stopped
    prepaid: Usd | None = None  # what was paid for its term; then it costs nothing more while it runs


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """An instance as it stands in the store."""

    instance: Instance
    sequence: int = 0  # of its last event
    placement: Placement | None = None
    last_used_at: datetime | None = None
    changed_at: datetime | None = None  # when the row was last written


_LIVING = text("state <> 'terminated'")

instances = Table(
    "instances",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("project", String, nullable=True),
    Column("region", String, nullable=True),  # where it is, else where it was asked for
    Column("product_name", String, nullable=False),  # as placed, else as asked for
    Column("template_id", String, nullable=False),
    Column("gpus", SmallInteger, nullable=False),
    Column("billing_mode", String, nullable=False),
    Column("price_units_per_hour", BigInteger, nullable=True),  # once placed
    Column("labels", Encoded(dict[str, str]), nullable=False),
    Column("state", String, nullable=False),
    Column("phase", String, nullable=True),
    Column("wanted", String, nullable=False),
    Column("upstream_id", String, nullable=True, unique=True),
    Column("predecessor_id", String, nullable=True, unique=True),
    Column("upstream_state", String, nullable=True),
    Column("upstream_word", String, nullable=False),
    Column("observed_at", Instant, nullable=True),
    Column("command", Encoded(Command), nullable=True),
    Column("placed_at", Instant, nullable=True),
    Column("starts", Integer, nullable=False),
    Column("start_began_at", Instant, nullable=True),
    Column("health", Encoded(HealthPolicy), nullable=True),
    Column("failed_probes", Integer, nullable=False),
    Column("ready_at", Instant, nullable=True),
    Column("first_ready_at", Instant, nullable=True),
    Column("stop_reason", String, nullable=True),
    Column("reclaim_at", Instant, nullable=True),
    Column("is_reclaimed", Boolean, nullable=False),
    Column("error", Encoded(Failure), nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("spec", Encoded(InstanceSpec), nullable=False),
    Column("envs", LargeBinary, nullable=True),  # sealed
    Column("placement", Encoded(Placement), nullable=True),
    Column("last_used_at", Instant, nullable=True),
    Column("changed_at", Instant, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Index("ix_instances_state", "state", "id"),
    Index("ix_instances_project", "project", "id"),
    Index("ix_instances_region", "region", "id"),
    Index("ix_instances_living_name", "name", sqlite_where=_LIVING, postgresql_where=_LIVING),
    Index("ix_instances_name", "name", "id"),
)

_REPEATED = ("project", "region", "product_name", "template_id", "gpus", "billing_mode", "labels")
_NOT_IN_ROW = frozenset({*_REPEATED, "price_units_per_hour", "envs"})
IN_ROW = tuple(column for column in instances.c if column.name not in _NOT_IN_ROW)


class VersionLost(Exception):  # noqa: N818 -- says what is so; reading again mends it
    """Somebody else has written the row since it was read: read it again."""

    def __init__(self, instance_id: str, version: int) -> None:
        super().__init__(f"instance {instance_id} is not at version {version} any more")
        self.instance_id = instance_id
        self.version = version


def insert_instance(connection: Connection, row: InstanceRow, envs: bytes | None) -> None:
    """Write a new row with its sealed environment values."""
    instance = row.instance
    connection.execute(_INSERT, _values(row) | {"id": instance.id, "envs": envs})
    put_labels(connection, instance.id, instance.spec.labels)
    note_change(connection, Part.INSTANCES, instance.id)


def find_instance(connection: Connection, instance_id: str) -> InstanceRow | None:
    """Return one row, or None."""
    found = connection.execute(_BY_ID, {"wanted_id": instance_id}).mappings().first()
    return None if found is None else instance_row(found)


def lock_instance(connection: Connection, instance_id: str) -> InstanceRow | None:
    """Return one row that nobody else writes until the end of this transaction."""
    found = connection.execute(_BY_ID_LOCKED, {"wanted_id": instance_id}).mappings().first()
    return None if found is None else instance_row(found)


def update_instance(connection: Connection, before: InstanceRow, after: InstanceRow) -> InstanceRow:
    """Write a row over the version that was read; raise VersionLost when it is not there any more."""
    version = before.instance.version
    written = replace(after, instance=replace(after.instance, version=version + 1))
    keys = {"wanted_id": before.instance.id, "old_version": version}
    if connection.execute(_UPDATE, _values(written) | keys).rowcount != 1:
        raise VersionLost(before.instance.id, version)
    if before.instance.spec.labels != after.instance.spec.labels:
        replace_labels(connection, after.instance.id, after.instance.spec.labels)
    note_change(connection, Part.INSTANCES, after.instance.id)
    return written


def mark_used(connection: Connection, instance_id: str, at: datetime) -> bool:
    """Note that an instance was used; never earlier than noted before. False when there is none."""
    is_later = instances.c.last_used_at.is_(None) | (instances.c.last_used_at < at)
    exists = connection.execute(select(instances.c.id).where(instances.c.id == instance_id)).first()
    noted = connection.execute(
        update(instances).where(instances.c.id == instance_id, is_later).values(last_used_at=at)
    )
    if noted.rowcount:
        note_change(connection, Part.INSTANCES, instance_id)
    return exists is not None


def note_seen(connection: Connection, instance_id: str, upstream_id: str, at: datetime) -> None:
    """Note that an upstream, placed before, was there at an instant; never earlier than noted before."""
    is_its = (instances.c.id == instance_id) & (instances.c.upstream_id == upstream_id)
    is_later = instances.c.observed_at.is_(None) | (instances.c.observed_at < at)
    statement = update(instances).where(is_its, is_later, instances.c.placed_at < at).values(observed_at=at)
    if connection.execute(statement).rowcount:
        note_change(connection, Part.INSTANCES, instance_id)


def sealed_envs(connection: Connection, instance_id: str) -> bytes | None:
    """Return the environment values of an instance, sealed."""
    return connection.execute(select(instances.c.envs).where(instances.c.id == instance_id)).scalar()


def living_ids_by_name(connection: Connection, name: str, project: str | None = None) -> list[str]:
    """Return the instances of exactly this name that are not terminated, oldest first."""
    query = select(instances.c.id).where(
        instances.c.name == name, instances.c.state != State.TERMINATED.value
    )
    if project is not None:
        query = query.where(instances.c.project == project)
    return list(connection.execute(query.order_by(instances.c.id)).scalars())


def owned_by(column: ColumnElement[str], project: str | None) -> list[ColumnElement[bool]]:
    """Return the condition that an instance's id is one of a project; none without a project."""
    if project is None:
        return []
    return [column.in_(select(instances.c.id).where(instances.c.project == project))]


def id_by_upstream(connection: Connection, upstream_id: str) -> str | None:
    """Return the instance that has an upstream, as its own or as the one being replaced."""
    is_its = (instances.c.upstream_id == upstream_id) | (instances.c.predecessor_id == upstream_id)
    return connection.execute(select(instances.c.id).where(is_its)).scalar()


def rows_in_states(connection: Connection, states: Collection[State]) -> list[InstanceRow]:
    """Return all rows in these states, oldest first."""
    words = [state.value for state in states]
    query = select(*IN_ROW).where(instances.c.state.in_(words)).order_by(instances.c.id)
    return [instance_row(found) for found in connection.execute(query).mappings()]


def rows_called(connection: Connection, instance_ids: Collection[str]) -> list[InstanceRow]:
    """Return the rows with these ids, as many as there are."""
    query = select(*IN_ROW).where(instances.c.id.in_(instance_ids))
    return [instance_row(found) for found in connection.execute(query).mappings()]


def row_identities(
    connection: Connection, instance_ids: Collection[str] | None = None
) -> dict[str, RowIdentity]:
    """Return what of rows tells whose an upstream is; of all rows, tombstones too, when none are named."""
    query = select(instances.c.id, instances.c.state, instances.c.upstream_id, instances.c.predecessor_id)
    if instance_ids is not None:
        query = query.where(instances.c.id.in_(instance_ids))
    return {
        row.id: RowIdentity(row.id, State(row.state), row[2], row[3]) for row in connection.execute(query)
    }


def instance_row(found: RowMapping) -> InstanceRow:
    """Return the row of the columns `IN_ROW`."""
    state = State(found["state"])
    instance = Instance(
        **{name: found[name] for name in _PLAIN},
        state=state,
        phase=phase_of(state, found["phase"]),
        wanted=Wanted(found["wanted"]),
        upstream_state=None if found["upstream_state"] is None else UpstreamState(found["upstream_state"]),
        stop_reason=None if found["stop_reason"] is None else StopReason(found["stop_reason"]),
    )
    return InstanceRow(
        instance, found["sequence"], found["placement"], found["last_used_at"], found["changed_at"]
    )


_PLAIN = (
    *("id", "name", "spec", "created_at", "upstream_id", "predecessor_id", "upstream_word", "observed_at"),
    *("command", "placed_at", "starts", "start_began_at", "health", "failed_probes", "ready_at"),
    *("first_ready_at", "reclaim_at", "is_reclaimed", "error", "version"),
)
_INSERT = insert(instances)
_BY_ID = select(*IN_ROW).where(instances.c.id == bindparam("wanted_id"))
_BY_ID_LOCKED = _BY_ID.with_for_update()
_UPDATE = update(instances).where(
    instances.c.id == bindparam("wanted_id"), instances.c.version == bindparam("old_version")
)


def _values(row: InstanceRow) -> dict[str, object]:
    instance, placement = row.instance, row.placement
    spec = instance.spec
    values: dict[str, object] = {name: getattr(instance, name) for name in _PLAIN if name != "id"}
    return values | {
        "project": spec.project,
        "region": spec.region if placement is None else placement.region,
        "product_name": spec.product_name if placement is None else placement.product_name,
        "template_id": spec.template_id,
        "gpus": spec.gpus,
        "billing_mode": spec.billing_mode.value,
        "price_units_per_hour": None if placement is None else placement.price_per_hour.units,
        "labels": dict(spec.labels),
        "state": instance.state.value,
        "phase": None if instance.phase is None else instance.phase.value,
        "wanted": instance.wanted.value,
        "upstream_state": None if instance.upstream_state is None else instance.upstream_state.value,
        "stop_reason": None if instance.stop_reason is None else instance.stop_reason.value,
        "spec": replace(spec, envs={}),
        "placement": placement,
        "last_used_at": row.last_used_at,
        "changed_at": row.changed_at or instance.created_at,
        "sequence": row.sequence,
    }
