"""Comparing what the cloud lists with the rows: pure, and quick where nothing has changed.

A listed upstream is *news* when its row says something else of it, or when the row's state still has
something to follow from what is seen. Everything here may be wrong by the time it is acted on: whoever acts
reads again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ostler.cloud.upstream import Upstream
from ostler.domain.catalogue import BillingMode
from ostler.domain.lifecycle import State, sight_event
from ostler.domain.upstream import UpstreamState
from ostler.store.instants import microseconds
from ostler.store.watch_rows import WatchRow

_UNSETTLED = frozenset(
    (state.value, upstream)
    for state in State
    for upstream in UpstreamState
    if sight_event(state, upstream) is not None
)
_MONTHLY = BillingMode.MONTHLY.value


class Fingerprint(NamedTuple):
    """Everything of a row and its upstream by which a look at them may differ from the last one."""

    version: int
    word: str
    reclaim_at_us: int | None
    price_units: int | None
    billing_mode: str | None


@dataclass(frozen=True, slots=True)
class News:
    """An upstream that its row is to be told of."""

    row: WatchRow
    upstream: Upstream


@dataclass(slots=True)
class Comparison:
    """Takes in what is listed, and says what is to be done about it.

    `idle` are the fingerprints of what was told and changed nothing: it is not told again.
    """

    rows: Mapping[str, WatchRow]  # by upstream
    predecessors: frozenset[str]
    idle: Mapping[str, Fingerprint]
    news: list[News] = field(default_factory=list)
    unowned: list[Upstream] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def take(self, upstreams: Iterable[Upstream]) -> None:
        """Compare some of what is listed."""
        rows, seen = self.rows, self.seen
        for upstream in upstreams:
            seen.add(upstream.id)
            row = rows.get(upstream.id)
            if row is None:
                if upstream.id not in self.predecessors:
                    self.unowned.append(upstream)
            elif is_news(row, upstream) and self.idle.get(upstream.id) != fingerprint(row, upstream):
                self.news.append(News(row, upstream))

    def absent(self) -> list[WatchRow]:
        """Return the rows whose upstream is not listed."""
        return [row for upstream_id, row in self.rows.items() if upstream_id not in self.seen]


def comparison(rows: Iterable[WatchRow], idle: Mapping[str, Fingerprint]) -> Comparison:
    """Return a comparison with these rows that has taken in nothing yet."""
    by_upstream: dict[str, WatchRow] = {}
    predecessors: set[str] = set()
    for row in rows:
        if row.upstream_id is not None:
            by_upstream[row.upstream_id] = row
        if row.predecessor_id is not None:
            predecessors.add(row.predecessor_id)
    return Comparison(by_upstream, frozenset(predecessors), idle)


def is_news(row: WatchRow, upstream: Upstream) -> bool:
    """Tell whether a row is to be told of what its upstream shows."""
    if row.upstream_word != upstream.status or row.upstream_state != upstream.state:
        return True
    if is_unsettled(row.state, upstream.state):
        return True
    if upstream.reclaim_at is not None:
        is_new_notice = row.reclaim_at_us != microseconds(upstream.reclaim_at)
        if is_new_notice or (upstream.is_reclaimed and not row.is_reclaimed):
            return True
    return _is_other_offer(row, upstream)


def is_unsettled(state: str, upstream: UpstreamState) -> bool:
    """Tell whether something is still to follow from seeing an upstream so."""
    return (state, upstream) in _UNSETTLED


def fingerprint(row: WatchRow, upstream: Upstream) -> Fingerprint:
    """Return by what a repeated look is known."""
    price, mode = upstream.price_per_gpu_hour, upstream.billing_mode
    return Fingerprint(
        row.version,
        upstream.status,
        None if upstream.reclaim_at is None else microseconds(upstream.reclaim_at),
        None if price is None else price.units,
        None if mode is None else mode.value,
    )


def _is_other_offer(row: WatchRow, upstream: Upstream) -> bool:
    if row.price_units_per_hour is None:
        return False
    if upstream.billing_mode is not None and upstream.billing_mode != row.billing_mode:
        return True
    price = upstream.price_per_gpu_hour
    if price is None or not upstream.gpus or row.billing_mode == _MONTHLY:
        return False
    return price.units * upstream.gpus != row.price_units_per_hour
