"""Keeping the ledger beside a changing instance: which intervals end and which begin, in one transaction.

An upstream that is billed has one open interval; a recreated instance has two until its old upstream is
gone. Bounds are those of what was seen; the watcher corrects them when the cloud says its own.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.domain.catalogue import BillingMode
from ostler.domain.instance import Instance
from ostler.domain.ledger import Interval, IntervalState, interval_cost, interval_state
from ostler.domain.money import Usd
from ostler.store.instances import InstanceRow
from ostler.store.ledger import add_interval, close_interval, intervals_of, open_interval, open_intervals


@dataclass(frozen=True, slots=True)
class Charge:
    """What one upstream is billed for from now on."""

    upstream_id: str
    state: IntervalState
    price_per_hour: Usd


def keep_ledger(connection: Connection, before: InstanceRow, after: InstanceRow, at: datetime) -> None:
    """Open and close intervals so that they say what is billed after a change."""
    was, is_now = charge_of(before), charge_of(after)
    predecessor_id = after.instance.predecessor_id
    has_lost_predecessor = before.instance.predecessor_id is not None and predecessor_id is None
    if was == is_now and not has_lost_predecessor:
        return
    goes_on = {predecessor_id} | ({is_now.upstream_id} if was == is_now and is_now is not None else set())
    for row in open_intervals(connection, after.instance.id):
        if row.upstream_id not in goes_on:
            close_interval(connection, row, at)
    if is_now is not None and was != is_now:
        open_interval(connection, is_now.upstream_id, _interval(after.instance, is_now, before.instance, at))
    _pay_in_advance(connection, before, after, at)


def charge_of(row: InstanceRow) -> Charge | None:
    """Return what an instance is billed for as it stands; None: for nothing."""
    instance, placement = row.instance, row.placement
    has_upstream = instance.upstream_id is not None
    state = interval_state(instance.state, instance.upstream_state, has_upstream=has_upstream)
    if state is None or instance.upstream_id is None:
        return None
    if placement is None or state is IntervalState.FREE:
        return Charge(instance.upstream_id, state, Usd(0))
    if state is IntervalState.STORAGE:
        price = placement.storage_price_per_hour
    else:
        is_paid = placement.prepaid is not None and placement.offer.billing_mode is BillingMode.MONTHLY
        price = Usd(0) if is_paid else placement.price_per_hour
    return Charge(instance.upstream_id, state, price)


def _pay_in_advance(connection: Connection, before: InstanceRow, after: InstanceRow, at: datetime) -> None:
    """Write down what an upstream cost that was just placed; a term that is renewed elsewhere is not seen."""
    upstream_id, placement = after.instance.upstream_id, after.placement
    if upstream_id is None or upstream_id == before.instance.upstream_id:
        return
    if placement is None or placement.prepaid is None:
        return
    paid = Interval(after.instance.id, IntervalState.PREPAID, Usd(0), at, at, amount=placement.prepaid)
    add_interval(connection, upstream_id, paid)


def cost_so_far(connection: Connection, instance_id: str, now: datetime) -> Usd:
    """Return what an instance has cost until now, as far as the ledger knows."""
    rows = intervals_of(connection, [instance_id])
    return sum((interval_cost(row.interval, now) for row in rows), Usd(0))


def _interval(instance: Instance, charge: Charge, before: Instance, at: datetime) -> Interval:
    seen_at = before.observed_at if before.upstream_id == charge.upstream_id else None
    uncertainty = timedelta() if seen_at is None else max(timedelta(), at - seen_at)
    return Interval(instance.id, charge.state, charge.price_per_hour, at, uncertainty=uncertainty)
