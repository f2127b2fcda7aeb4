"""The merged list: our rows and what the watcher last saw of the account, side by side, in one answer.

The cloud's side is what was seen, not what is asked for now: a read never waits for the cloud, unless a look
is wished for, or nothing was ever seen. While the cloud is down the last picture stays, with its age. What is
merged is kept until a row, a look or a sighting changes, in whatever process, or the next pass. Strangers
are shown to those who see everything, and never get rows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.cloud.caches import NamedCache
from ostler.cloud.upstream import Upstream
from ostler.domain.consistency import CloudsWord, Consistency, OurWord, consistency, shown_state
from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.store.database import Database
from ostler.store.fleet_rows import FleetRow, living_fleet
from ostler.store.instance_lists import Summary
from ostler.store.revisions import Part, read_revision
from ostler.store.sightings import Sighting, all_sightings
from ostler.usecases.asking import Asker
from ostler.usecases.details import look_in
from ostler.usecases.picture import Picture

_PARTS = (Part.INSTANCES, Part.LOOKS, Part.SIGHTINGS)
MOST_LISTS = 64  # kept: one for each project, one for those who see everything
_PATIENCE = timedelta(seconds=10)  # for a look that was wished for
_FIRST_PATIENCE = timedelta(seconds=2)  # for the first look of all
_EVERYTHING = "all"
_NOT_SHOWN = frozenset({Kinship.OURS, Kinship.AWAITED})  # these are in a row, or soon will be


class Watching(Protocol):
    """What is known of the watcher."""

    def picture(self) -> Picture:
        """Return what the last whole pass showed."""
        ...

    def is_blind(self) -> bool:
        """Tell whether nothing was ever seen, though nothing has failed."""
        ...

    async def request_pass(self, wait_at_most: timedelta, /) -> bool:
        """Have a pass made now; False: it did not come in time."""
        ...

    def renew(self) -> None:
        """Have what was seen seen anew behind the reader's back, where it is old."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """One of our instances, merged with what was seen of its upstream."""

    summary: Summary
    state: State  # to be shown
    consistency: Consistency
    look: Upstream | None
    observed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The merged list as of one snapshot of the rows and one picture of the account."""

    revision: int
    picture: Picture
    members: Sequence[Member]
    strangers: Sequence[Sighting]
    reading_s: float
    merging_s: float


@dataclass(frozen=True, slots=True)
class Survey:
    """One answer, and where its time went; what was kept cost none."""

    fleet: Fleet
    at: datetime  # when it was drawn, after all waiting
    is_synced: bool | None  # None: nobody wished for a look
    total_s: float
    cloud_s: float
    reading_s: float
    merging_s: float
    hit_ratio: float


class Comprehensive:
    """Merges lists and keeps them for a while."""

    def __init__(
        self, database: Database, watching: Watching, cache: NamedCache[Fleet], clock: Clock
    ) -> None:
        self._database = database
        self._watching = watching
        self._cache = cache
        self._clock = clock

    async def survey(self, asker: Asker, *, sync: bool = False) -> Survey:
        """Return the merged list, after a look at the account if that is wished for."""
        began = self._clock.monotonic()
        is_synced = await self._looked(sync=sync)
        looked = self._clock.monotonic()
        revision = await self._database.read(lambda connection: read_revision(connection, _PARTS))
        taken_at = self._watching.picture().taken_at

        def is_current(fleet: Fleet) -> bool:
            return fleet.revision >= revision and _is_not_before(fleet.picture.taken_at, taken_at)

        asked = self._clock.monotonic()
        key = _EVERYTHING if asker.project is None else f"project:{asker.project}"
        kept = await self._cache.get(key, lambda: self._merged(asker.project), is_current)
        fleet, ended = kept.value, self._clock.monotonic()
        return Survey(
            fleet=fleet,
            at=self._clock.now(),
            is_synced=is_synced if sync else None,
            total_s=ended - began,
            cloud_s=looked - began,
            reading_s=asked - looked + (0.0 if kept.was_cached else fleet.reading_s),
            merging_s=0.0 if kept.was_cached else fleet.merging_s,
            hit_ratio=self._cache.stats().hit_ratio,
        )

    async def _looked(self, *, sync: bool) -> bool:
        if sync:
            return await self._watching.request_pass(_PATIENCE)
        if self._watching.is_blind():
            return await self._watching.request_pass(_FIRST_PATIENCE)
        self._watching.renew()
        return False

    async def _merged(self, project: str | None) -> Fleet:
        picture, began = self._watching.picture(), self._clock.monotonic()

        def work(connection: Connection) -> tuple[int, Sequence[FleetRow], Sequence[Sighting]]:
            revision = read_revision(connection, _PARTS)
            return revision, living_fleet(connection, project), all_sightings(connection)

        revision, rows, sightings = await self._database.read(work)
        read = self._clock.monotonic()
        rivals = {each.mark.instance_id for each in sightings if each.mark and _is_rival(each)}
        return Fleet(
            revision=revision,
            picture=picture,
            members=[merged(row, picture, rivals) for row in rows],
            strangers=[] if project else [each for each in sightings if each.kinship not in _NOT_SHOWN],
            reading_s=read - began,
            merging_s=self._clock.monotonic() - read,
        )


def merged(row: FleetRow, picture: Picture, rivals: Collection[str]) -> Member:
    """Return one of our instances beside what was seen of it."""
    summary = row.summary
    ours = OurWord(summary.state, row.asked_at)
    observed_at = picture.observed_at(
        summary.upstream_id, summary.placed_at, summary.observed_at, summary.looked_at
    )
    clouds = None
    if row.upstream_state is not None and summary.upstream_id is not None:
        clouds = CloudsWord(
            state=row.upstream_state,
            seen_at=observed_at,
            is_missing=summary.upstream_id in picture.missing,
            has_rivals=summary.id in rivals,
        )
    return Member(
        summary=summary,
        state=shown_state(ours, clouds),
        consistency=consistency(ours, clouds),
        look=None if row.look is None else look_in(row.look),
        observed_at=observed_at,
    )


def _is_rival(seen: Sighting) -> bool:
    return seen.kinship is Kinship.DUPLICATE


def _is_not_before(taken_at: datetime | None, other: datetime | None) -> bool:
    return other is None or (taken_at is not None and taken_at >= other)
