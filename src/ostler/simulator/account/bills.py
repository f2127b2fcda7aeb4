"""Bills, derived from the world's ledger: nothing is billed here that the ledger does not have.

A *line* is what one instance or storage cost in one cycle (an hour, a day, a week, a month, all in UTC).
Amounts inside are exact, in 1/100000 USD × seconds/day; the pages show 1/10000 USD, another unit than prices
have.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from ostler.simulator.money import SECONDS_PER_DAY, Category, LedgerEntry, Span

UNITS_PER_SHOWN = 10  # 1/100000 USD in a 1/10000 USD
_MONDAY = 4 * SECONDS_PER_DAY  # 1970-01-05, the first Monday of unix time


class Cycle(StrEnum):
    """How finely bills are cut."""

    HOUR = "Hour"
    DAY = "Day"
    WEEK = "Week"
    MONTH = "Month"


_LENGTHS = {Cycle.HOUR: 3600, Cycle.DAY: SECONDS_PER_DAY, Cycle.WEEK: 7 * SECONDS_PER_DAY}


@dataclass(frozen=True, slots=True)
class Line:
    """What one instance or storage cost in one cycle."""

    entry: LedgerEntry
    start: int
    end: int
    unit_seconds: int
    seconds: int  # with a GPU, or of a storage

    @property
    def units(self) -> int:
        """The amount in 1/100000 USD."""
        return self.unit_seconds // SECONDS_PER_DAY


def shown(units: int) -> str:
    """Return an amount of 1/100000 USD as the billing pages write it."""
    return str(units // UNITS_PER_SHOWN)


def cycle_start(cycle: Cycle, at: int) -> int:
    """Return when the cycle began that an instant falls in."""
    if cycle is Cycle.MONTH:
        moment = datetime.fromtimestamp(at, UTC)
        return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp())
    offset = _MONDAY if cycle is Cycle.WEEK else 0
    return at - (at - offset) % _LENGTHS[cycle]


def next_cycle(cycle: Cycle, start: int) -> int:
    """Return when the cycle after the one that began then begins."""
    if cycle is Cycle.MONTH:
        return cycle_start(cycle, start + 32 * SECONDS_PER_DAY)
    return start + _LENGTHS[cycle]


def month_of(at: int) -> str:
    """Return an instant's month as `YYYY-MM`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")


def usage_lines(entries: Iterable[LedgerEntry], cycle: Cycle, start: int, end: int) -> list[Line]:
    """Return what each of them cost in each cycle of a window; `end` is at most now."""
    return [line for entry in entries for line in _lines_of(entry, cycle, start, end)]


def _lines_of(entry: LedgerEntry, cycle: Cycle, start: int, end: int) -> Iterator[Line]:
    cost: dict[int, int] = {}
    used: dict[int, int] = {}
    is_gpu = entry.category is Category.GPU
    for span in entry.spans:
        for cycle_began, seconds in _cut(span, cycle, start, end):
            cost[cycle_began] = cost.get(cycle_began, 0) + span.rate * seconds
            used[cycle_began] = used.get(cycle_began, 0) + (seconds if span.has_gpu or not is_gpu else 0)
    for began in sorted(cost):
        last = next_cycle(cycle, began) - 1
        yield Line(entry, max(began, start), min(last, end), cost[began], used[began])


def _cut(span: Span, cycle: Cycle, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the cycles that a span touches within a window, with the seconds in each."""
    at = max(int(span.start), start)
    until = end if span.end is None else min(int(span.end), end)
    while at < until:
        began = cycle_start(cycle, at)
        stop = min(next_cycle(cycle, began), until)
        yield began, stop - at
        at = stop


def totals(lines: Iterable[Line], cycle: Cycle) -> Mapping[int, int]:
    """Return the amounts of each cycle in 1/100000 USD, rounded down once."""
    sums: dict[int, int] = {}
    for line in lines:
        began = cycle_start(cycle, line.start)
        sums[began] = sums.get(began, 0) + line.unit_seconds
    return {began: sums[began] // SECONDS_PER_DAY for began in sorted(sums)}


@dataclass(frozen=True, slots=True)
class MonthlyBill:
    """All of an account's cost in one month."""

    month: str
    start: int
    end: int
    units: int
    is_over: bool


def monthly_bills(entries: list[LedgerEntry], since: int, now: int) -> list[MonthlyBill]:
    """Return the bills of all months from one on to the present; months without cost are there too."""
    start = cycle_start(Cycle.MONTH, since)
    usage = totals(usage_lines(entries, Cycle.MONTH, start, now), Cycle.MONTH)
    bills = []
    while start <= now:
        stop = next_cycle(Cycle.MONTH, start)
        prepaid = sum(entry.prepaid for entry in entries if start <= entry.created_at < stop)
        bills.append(
            MonthlyBill(month_of(start), start, stop - 1, usage.get(start, 0) + prepaid, stop <= now)
        )
        start = stop
    return bills


@dataclass(frozen=True, slots=True)
class Transaction:
    """Money that went in or out of the wallet; both amounts in 1/100000 USD."""

    at: int
    kind: str  # recharge | consume
    units: int
    balance: int

    @property
    def serial_number(self) -> str:
        """A number that is the same whenever it is asked for."""
        return f"{self.at:012d}{'1' if self.kind == 'recharge' else '2'}"


def transactions(entries: list[LedgerEntry], credit: int, began: int, now: int) -> list[Transaction]:
    """Return the one payment in, and what was spent on each day that is over; newest first."""
    balance = credit
    found = [Transaction(began, "recharge", credit, balance)]
    days = dict(totals(usage_lines(entries, Cycle.DAY, 0, now), Cycle.DAY))
    for entry in entries:
        if entry.prepaid:
            day = cycle_start(Cycle.DAY, int(entry.created_at))
            days[day] = days.get(day, 0) + entry.prepaid
    for day in sorted(days):
        settled_at = next_cycle(Cycle.DAY, day)
        if settled_at <= now:
            balance -= days[day]
            found.append(Transaction(settled_at, "consume", days[day], balance))
    return found[::-1]
