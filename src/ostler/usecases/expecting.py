"""When a start is expected to be over: by the median of its product's last starts, remembered for a moment.

An estimate may be some seconds out of date; reading the starts again for each of a thousand creates would not
make it better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.domain.deadlines import estimated_ready_at
from ostler.store.product_starts import last_starts

_REMEMBERED = timedelta(seconds=10)
_MOST_PRODUCTS = 1000


@dataclass(slots=True)
class Expectations:
    """Remembers the last starts of products. Called inside transactions, maybe on several threads."""

    _known: dict[str, tuple[datetime, Sequence[timedelta]]] = field(default_factory=dict)

    def ready_at(self, connection: Connection, product_name: str, now: datetime) -> datetime:
        """Return when a start that begins now is expected to be usable."""
        known = self._known.get(product_name)
        if known is None or now - known[0] >= _REMEMBERED:
            if len(self._known) >= _MOST_PRODUCTS:
                self._known.clear()
            known = self._known[product_name] = (now, last_starts(connection, product_name))
        return estimated_ready_at(now, known[1])
