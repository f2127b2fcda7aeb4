"""What the pretend cloud charges: an account's wallet, and the ledger of every instance ever billed.

Rates are per day in 1/100000 USD and time counts in whole seconds, so sums are exact integers of
*unit-seconds* (rate × seconds). Dividing by the seconds of a day happens only when an amount is shown.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum

UNITS_PER_USD = 100_000
SECONDS_PER_DAY = 86_400
HOURS_PER_DAY = 24


def whole_seconds(start: float, end: float) -> int:
    """Return the seconds between two instants such that adjoining intervals add up exactly."""
    return int(end) - int(start)


@dataclass(slots=True)
class Wallet:
    """An account's money and limits."""

    account: str
    credit: int = 1_000 * UNITS_PER_USD  # everything ever paid in
    prepaid: int = 0  # spent on months in advance
    rate: int = 0  # what everything that runs now costs
    unit_seconds: int = 0  # what ran until `settled_at`
    settled_at: float = 0.0
    is_frozen: bool = False  # in arrears: everything was stopped
    gpu_limit: int = 1_000_000
    instance_limit: int = 1_000_000
    gpus_in_use: int = 0
    instances_alive: int = 0

    def balance(self, now: float) -> int:
        """Return what is left, in 1/100000 USD."""
        spent = self.unit_seconds + self.rate * whole_seconds(self.settled_at, now)
        return self.credit - self.prepaid - spent // SECONDS_PER_DAY

    def change_rate(self, by: int, now: float) -> None:
        """Account for what ran until now, and go on at another rate."""
        self.unit_seconds += self.rate * whole_seconds(self.settled_at, now)
        self.settled_at = now
        self.rate += by

    @property
    def runs_dry_at(self) -> float | None:
        """The instant at which nothing is left if all goes on as now; None if there is none."""
        if self.rate <= 0 or self.is_frozen:
            return None
        left = (self.credit - self.prepaid) * SECONDS_PER_DAY - self.unit_seconds
        return int(self.settled_at) + max(0, math.ceil(left / self.rate))


@dataclass(frozen=True, slots=True)
class Span:
    """A time over which an instance cost the same; open while `end` is None."""

    start: float
    rate: int
    has_gpu: bool  # False: only the disks cost
    end: float | None = None

    def seconds(self, now: float) -> int:
        """Return the whole seconds of it until now."""
        return whole_seconds(self.start, now if self.end is None else self.end)


class Category(StrEnum):
    """What an entry of the ledger is for, in the words of the bills."""

    GPU = "gpu"  # an instance, its disks included
    STORAGE = "cloud_storage"  # a network storage


@dataclass(slots=True)
class LedgerEntry:
    """What one instance or network storage cost; it stays after the thing is removed."""

    id: str
    account: str
    name: str
    product_id: str
    product_name: str
    mode: str
    created_at: float
    prepaid: int = 0
    removed_at: float = 0.0
    category: Category = Category.GPU
    spans: list[Span] = field(default_factory=list)  # in order, adjoining or apart; never empty ones

    @property
    def running(self) -> Span | None:
        """The span that is still open."""
        return self.spans[-1] if self.spans and self.spans[-1].end is None else None

    def seconds_at(self, now: float) -> int:
        """Return for how long a GPU was billed."""
        return sum(span.seconds(now) for span in self.spans if span.has_gpu)

    def cost_at(self, now: float) -> int:
        """Return the cost so far in 1/100000 USD, rounded down once."""
        return self.prepaid + sum(span.rate * span.seconds(now) for span in self.spans) // SECONDS_PER_DAY
