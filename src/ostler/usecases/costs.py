"""What an instance has cost, interval by interval, as far as the ledger knows.

The ledger's bounds are the cloud's own instants where it gave them, else those of what was seen; each
interval says which, and by how much it may be wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.domain.ledger import interval_cost
from ostler.domain.money import Usd
from ostler.store.database import Database
from ostler.store.ledger import LedgerRow, intervals_of
from ostler.usecases.asking import Asker, visible


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one instance at one instant."""

    at: datetime
    rows: Sequence[LedgerRow]  # beside the instance's own upstreams there may be duplicates that were removed

    @property
    def intervals(self) -> Sequence[tuple[LedgerRow, Usd]]:
        """Each interval with what it cost."""
        return [(row, interval_cost(row.interval, self.at)) for row in self.rows]

    @property
    def so_far(self) -> Usd:
        """All intervals together."""
        return sum((cost for _, cost in self.intervals), Usd(0))

    @property
    def per_hour(self) -> Usd:
        """What it costs now."""
        open_now = (row.interval for row in self.rows if row.interval.to_at is None)
        return sum((interval.price_per_hour for interval in open_now), Usd(0))


class Costs:
    """Reads the ledger."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def of_instance(self, instance_id: str, asker: Asker) -> Cost:
        """Return what an instance has cost; raise Missing."""
        now = self._clock.now()

        def work(connection: Connection) -> Cost:
            visible(connection, instance_id, asker)
            return Cost(now, intervals_of(connection, [instance_id]))

        return await self._database.read(work)
