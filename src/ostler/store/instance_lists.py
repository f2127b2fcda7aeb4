"""Lists of instances: filtered, counted, a page at a time, newest first; straight from the columns.

A *summary* is what a list shows of an instance; it is read without decoding what only decisions need.
Pages go by offset, or by a cursor (the last id seen), which stays right while instances come and go.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, select

from ostler.domain.catalogue import BillingMode
from ostler.domain.failures import Failure
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.phases import StopReason
from ostler.store.instances import instances
from ostler.store.labels import has_label
from ostler.store.looks import looks


@dataclass(frozen=True, slots=True)
class InstanceFilter:
    """Which instances; what is empty or None does not narrow."""

    states: Collection[State] = ()
    name: str | None = None
    project: str | None = None
    region: str | None = None  # its code
    labels: Mapping[str, str | None] = field(default_factory=dict)  # None: any value


@dataclass(frozen=True, slots=True)
class PageWish:
    """Which part of a list; a cursor wins over the offset."""

    limit: int = 500
    offset: int = 0
    after_id: str | None = None  # the cursor: only what stands behind this id


@dataclass(frozen=True, slots=True)
class Summary:
    """An instance as a list shows it."""

    id: str
    upstream_id: str | None
    name: str
    project: str | None
    state: State
    phase: str | None
    upstream_word: str
    region: str | None
    product_name: str
    template_id: str
    gpus: int
    billing_mode: BillingMode
    price_per_hour: Usd | None
    labels: Mapping[str, str]
    created_at: datetime
    placed_at: datetime | None
    start_began_at: datetime | None
    ready_at: datetime | None
    first_ready_at: datetime | None
    last_used_at: datetime | None
    observed_at: datetime | None
    looked_at: datetime | None  # at its present upstream alone, which moves no row
    stop_reason: StopReason | None
    error: Failure | None


def list_summaries(connection: Connection, wanted: InstanceFilter, page: PageWish) -> Sequence[Summary]:
    """Return one page, newest first."""
    query = summaries().where(*_conditions(wanted)).order_by(instances.c.id.desc()).limit(page.limit)
    if page.after_id is not None:
        query = query.where(instances.c.id < page.after_id)
    else:
        query = query.offset(page.offset)
    return [summary_row(found) for found in connection.execute(query).mappings()]


def summaries(*more: ColumnElement[object]) -> Select[object]:
    """Return the query of what `summary_row` reads, and more columns of the instances and their looks."""
    is_its_own = (looks.c.instance_id == instances.c.id) & (looks.c.upstream_id == instances.c.upstream_id)
    looked_at = looks.c.observed_at.label("looked_at")
    return select(*_SHOWN, looked_at, *more).select_from(instances).outerjoin(looks, is_its_own)


def count_instances(connection: Connection, wanted: InstanceFilter) -> int:
    """Return how many instances a filter lets through, on all pages."""
    query = select(func.count()).select_from(instances).where(*_conditions(wanted))
    return connection.execute(query).scalar_one()


def count_by_state(connection: Connection) -> Mapping[State, int]:
    """Return how many instances are in each state that has any."""
    query = select(instances.c.state, func.count()).group_by(instances.c.state)
    return {State(word): count for word, count in connection.execute(query)}


_PLAIN = (
    *("id", "upstream_id", "name", "project", "phase", "upstream_word", "region", "product_name"),
    *(
        "template_id",
        "gpus",
        "labels",
        "created_at",
        "placed_at",
        "start_began_at",
        "ready_at",
        "first_ready_at",
    ),
    *("last_used_at", "observed_at", "error"),
)
_SHOWN = tuple(
    instances.c[name] for name in (*_PLAIN, "state", "billing_mode", "price_units_per_hour", "stop_reason")
)


def _conditions(wanted: InstanceFilter) -> list[ColumnElement[bool]]:
    exact = {
        instances.c.name: wanted.name,
        instances.c.project: wanted.project,
        instances.c.region: wanted.region,
    }
    conditions = [column == value for column, value in exact.items() if value is not None]
    if wanted.states:
        conditions.append(instances.c.state.in_([state.value for state in wanted.states]))
    conditions += [has_label(instances.c.id, key, value) for key, value in wanted.labels.items()]
    return conditions


def summary_row(found: RowMapping) -> Summary:
    units, reason = found["price_units_per_hour"], found["stop_reason"]
    return Summary(
        **{name: found[name] for name in (*_PLAIN, "looked_at")},
        state=State(found["state"]),
        billing_mode=BillingMode(found["billing_mode"]),
        price_per_hour=None if units is None else Usd(units),
        stop_reason=None if reason is None else StopReason(reason),
    )
