"""Reading an instance's meter, from the ledger and the row: what its brakes are judged by.

What follows from it is `domain/brakes.py`'s to say.
"""

from datetime import datetime

from sqlalchemy import Connection

from ostler.domain.brakes import Meter
from ostler.domain.ledger import interval_cost
from ostler.domain.money import Usd
from ostler.store.instances import InstanceRow
from ostler.store.ledger import intervals_of


def meter_of(connection: Connection, row: InstanceRow, now: datetime) -> Meter:
    """Return what an instance's meter shows at an instant."""
    intervals = [found.interval for found in intervals_of(connection, [row.instance.id])]
    going_on = [each.price_per_hour for each in intervals if each.to_at is None]
    return Meter(
        at=now,
        placed_at=min((each.from_at for each in intervals), default=None),
        cost=sum((interval_cost(each, now) for each in intervals), Usd(0)),
        per_hour=sum(going_on, Usd(0)),
        last_used_at=row.last_used_at,
    )
