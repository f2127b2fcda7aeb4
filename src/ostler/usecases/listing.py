"""One page of a list, out of one snapshot: our rows newest first, then what only the cloud has, by its id.

A cursor names the last one seen, so that no page skips or doubles what was there all the while, whatever
comes and goes meanwhile. What only the cloud has belongs to no project and carries no labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sqlalchemy import Connection

from ostler.domain.lifecycle import adopted_state
from ostler.store.instance_lists import InstanceFilter, PageWish, Summary, count_instances, list_summaries
from ostler.store.revisions import Part
from ostler.store.sightings import Sighting, all_sightings

OF_STRANGERS = "novita:"  # how a cursor among them begins


class ListSource(StrEnum):
    """Whose instances a list shows."""

    LOCAL = "local"  # that Ostler looks after
    NOVITA = "novita"  # that only the cloud has
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ListWish:
    """Which instances, and which part of their list."""

    wanted: InstanceFilter = field(default_factory=InstanceFilter)
    page: PageWish = field(default_factory=PageWish)
    source: ListSource = ListSource.LOCAL

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the list is drawn from."""
        own = (Part.INSTANCES, Part.LOOKS)
        return own if self.source is ListSource.LOCAL else (*own, Part.SIGHTINGS)


@dataclass(frozen=True, slots=True)
class Listed:
    """One page. `next_cursor` None: it is the last one."""

    instances: Sequence[Summary]
    strangers: Sequence[Sighting]
    total: int
    next_cursor: str | None


def listed(connection: Connection, wish: ListWish) -> Listed:
    """Return one page; one row more is looked for, which tells whether there is another."""
    cursor, limit = wish.page.after_id, wish.page.limit
    is_past_rows = cursor is not None and cursor.startswith(OF_STRANGERS)
    rows: Sequence[Summary] = ()
    row_count = 0
    if wish.source is not ListSource.NOVITA:
        row_count = count_instances(connection, wish.wanted)
        ahead = replace(wish.page, limit=limit + 1)
        rows = () if is_past_rows else list_summaries(connection, wish.wanted, ahead)
    strangers = () if wish.source is ListSource.LOCAL else _strangers(connection, wish.wanted)
    beyond = _among_strangers(strangers, replace(wish.page, limit=max(0, limit + 1 - len(rows))), row_count)
    has_more = len(rows) + len(beyond) > limit
    rows = rows[:limit]
    shown = beyond[: limit - len(rows)]
    last = f"{OF_STRANGERS}{shown[-1].upstream_id}" if shown else rows[-1].id if rows else None
    return Listed(rows, shown, row_count + len(strangers), last if has_more else None)


def _strangers(connection: Connection, wanted: InstanceFilter) -> Sequence[Sighting]:
    if wanted.project is not None or wanted.labels:
        return ()
    found = (each for each in all_sightings(connection) if _is_wanted(each, wanted))
    return sorted(found, key=lambda each: each.upstream_id)


def _is_wanted(found: Sighting, wanted: InstanceFilter) -> bool:
    return (
        (not wanted.states or adopted_state(found.state) in wanted.states)
        and wanted.name in {None, found.name}
        and wanted.region in {None, found.region}
    )


def _among_strangers(strangers: Sequence[Sighting], page: PageWish, row_count: int) -> Sequence[Sighting]:
    if page.after_id is None:
        start = max(0, page.offset - row_count)
        return strangers[start : start + page.limit]
    after = page.after_id.removeprefix(OF_STRANGERS) if page.after_id.startswith(OF_STRANGERS) else ""
    return [each for each in strangers if each.upstream_id > after][: page.limit]
