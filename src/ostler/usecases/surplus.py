"""What an instance is told of, and charged for, an upstream that is one too many of it.

A *surplus* is a duplicate, or a late one of a terminated row. It carries the mark of the instance on whose
account it came to be: its finding and its end stand on that instance's time line, and once it is gone, what
it cost stands in that instance's ledger. Until then the list of orphans shows its price.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection

from ostler.domain.events import PublicEvent
from ostler.domain.instance import Change
from ostler.domain.ledger import Interval, IntervalState, interval_cost
from ostler.domain.upstream import UpstreamState
from ostler.store.attempts import attempts_of
from ostler.store.events import EventRow
from ostler.store.instances import find_instance
from ostler.store.ledger import LedgerRow, add_interval, intervals_of
from ostler.store.sightings import Sighting
from ostler.usecases.record import Edit, Occasion, Recorder


def tell_of_found(recorder: Recorder, connection: Connection, seen: Sighting, occasion: Occasion) -> None:
    """Say that the cloud lists something that no instance has."""
    reason = f"the cloud lists {seen.name!r}, which no instance has: {seen.kinship.value}"
    details = {**_shown(seen), "kinship": seen.kinship.value}
    event = EventRow(
        PublicEvent.ORPHAN_FOUND, occasion.at, reason=reason, actor=occasion.actor, details=details
    )
    _tell(recorder, connection, seen, event)


def tell_of_removed(recorder: Recorder, connection: Connection, seen: Sighting, occasion: Occasion) -> None:
    """Say that a surplus is gone from the cloud, and charge its instance with what it cost."""
    charged = _charge(connection, seen, occasion.at)
    cost = None if charged is None else float(interval_cost(charged, occasion.at).amount)
    event = EventRow(
        PublicEvent.DUPLICATE_REMOVED,
        occasion.at,
        reason=f"{seen.kinship.value} {seen.name!r} is gone from the cloud",
        actor=occasion.actor,
        details={**_shown(seen), "estimatedCost": cost},
    )
    _tell(recorder, connection, seen, event)


def _tell(recorder: Recorder, connection: Connection, seen: Sighting, event: EventRow) -> None:
    """Tell it to the instance in the mark; where there is no row, to who sees everything."""
    if seen.mark is None or find_instance(connection, seen.mark.instance_id) is None:
        recorder.tell(connection, event)
        return
    before = recorder.lock(connection, seen.mark.instance_id)
    change = Change(before.instance).telling(event.name, event.reason)
    edit = Edit(change, details=event.details)
    recorder.write(connection, before, edit, Occasion(event.at, event.actor))


def _charge(connection: Connection, seen: Sighting, until: datetime) -> Interval | None:
    """Write into the ledger what a surplus was billed for; None: for nothing that we know of."""
    is_free = seen.state is UpstreamState.PROVISIONING
    if seen.mark is None or seen.price_per_hour is None or is_free:
        return None
    instance_id = seen.mark.instance_id
    if find_instance(connection, instance_id) is None:
        return None
    known = [row for row in intervals_of(connection, [instance_id]) if row.upstream_id == seen.upstream_id]
    from_at = _since(connection, seen, known)
    if from_at is None or from_at >= until:
        return None
    interval = Interval(
        instance_id,
        IntervalState.COMPUTE,
        seen.price_per_hour,
        from_at,
        until,
        uncertainty=max(seen.first_seen_at, from_at) - from_at,
    )
    add_interval(connection, seen.upstream_id, interval)
    return interval


def _since(connection: Connection, seen: Sighting, known: list[LedgerRow]) -> datetime | None:
    """Return since when it is not charged: by the ledger, else its attempt's call, else the first sight."""
    if known:
        ends = [row.interval.to_at for row in known]
        return None if None in ends else max(end for end in ends if end is not None)
    assert seen.mark is not None, seen
    attempts = attempts_of(connection, seen.mark.instance_id)
    calls = (row.called_at for row in attempts if row.attempt.number == seen.mark.attempt)
    return next((at for at in calls if at is not None), seen.first_seen_at)


def _shown(seen: Sighting) -> Mapping[str, object]:
    price = seen.price_per_hour
    return {
        "novitaInstanceId": seen.upstream_id,
        "name": seen.name,
        "pricePerHour": None if price is None else float(price.amount),
    }
