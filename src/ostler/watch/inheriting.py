"""Giving an instance an upstream that surfaced after all, because it has nothing better.

Either it never got one, or its own is gone and one of its attempts had left another. The attempt whose mark
it carries counts as found. Inside the caller's transaction, with the row locked and no attempt open.
"""

from dataclasses import replace

from sqlalchemy import Connection

from ostler.cloud.upstream import Upstream
from ostler.domain.attempts import ATTEMPT_ARROWS, Attempt, AttemptEvent, AttemptState, found
from ostler.domain.catalogue import BillingMode
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Change, Instance
from ostler.domain.marks import parse_mark
from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey
from ostler.domain.outcomes import placed
from ostler.domain.work import WorkKind
from ostler.store.attempts import AttemptRow, find_attempt, insert_attempt, swap_attempt
from ostler.store.instances import InstanceRow, Placement
from ostler.store.sightings import drop_sightings
from ostler.usecases.observe import as_shown
from ostler.usecases.record import Edit, Occasion


def given(connection: Connection, before: InstanceRow, upstream: Upstream, occasion: Occasion) -> Edit:
    """Return what to write of a row without an upstream that now has one."""
    change = placed(before.instance, upstream.id, occasion.at)
    return _edit(connection, change, upstream, occasion)


def inherited(connection: Connection, before: InstanceRow, upstream: Upstream, occasion: Occasion) -> Edit:
    """Return what to write of a row whose own upstream is gone, and that goes on with another."""
    moved = replace(
        before.instance,
        upstream_id=upstream.id,
        upstream_state=None,
        upstream_word="",
        placed_at=occasion.at,
        observed_at=None,
        command=None,
    )
    change = Change(moved).telling(
        PublicEvent.ORPHAN_ADOPTED, "its own upstream is gone; another of its create goes on"
    )
    return _edit(connection, change, upstream, occasion)


def _edit(connection: Connection, change: Change, upstream: Upstream, occasion: Occasion) -> Edit:
    row = _found_attempt(connection, change.instance, upstream, occasion)
    drop_sightings(connection, [upstream.id])
    attempt = row.attempt
    bought = Placement(attempt.number, attempt.offer, row.region, row.product_name, attempt.price_per_hour)
    details = {"novitaInstanceId": upstream.id, "attempt": attempt.number, "region": row.region}
    return Edit(change.asking(WorkKind.REFRESH), placement=as_shown(bought, upstream), details=details)


def _found_attempt(
    connection: Connection, instance: Instance, upstream: Upstream, occasion: Occasion
) -> AttemptRow:
    """Return the attempt that left the upstream; one that the store does not know is written down."""
    mark = parse_mark(upstream.name)
    number = 1 if mark is None else mark.attempt
    row = find_attempt(connection, instance.id, number)
    if row is None:
        unknown = _unknown_attempt(instance, number, upstream)
        row = AttemptRow(unknown, upstream.region_name.partition(" (")[0], upstream.product_name, occasion.at)
        insert_attempt(connection, row)
    elif AttemptEvent.FOUND in ATTEMPT_ARROWS[row.attempt.state]:
        after = replace(row, attempt=found(row.attempt, upstream.id))
        swap_attempt(connection, row, after)
        return after
    return row


def _unknown_attempt(instance: Instance, number: int, upstream: Upstream) -> Attempt:
    mode = upstream.billing_mode or BillingMode.ON_DEMAND
    return Attempt(
        instance_id=instance.id,
        number=number,
        upstream_name=upstream.name,
        offer=OfferKey(upstream.product_id, upstream.region_id, mode),
        price_per_hour=(upstream.price_per_gpu_hour or Usd(0)) * max(1, upstream.gpus),
        state=AttemptState.ADOPTED,
        upstream_id=upstream.id,
    )
