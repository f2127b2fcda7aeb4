"""What is listed and is no row's own: put down with its price, and dealt with as its kinship wants.

An orphan gets a row; one that its row waits for is given to it, or to the attempt that still looks for it;
one too many is removed, once that is safe; all others are only shown. Decided by `domain/kinship.py` and
`domain/duplicates.py`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from ostler.cloud.upstream import Upstream
from ostler.domain.instance import Change
from ostler.domain.kinship import Kinship, Relation, household, relation
from ostler.domain.lifecycle import State, sight_event
from ostler.domain.marks import parse_mark
from ostler.domain.upstream import REMOVAL
from ostler.domain.work import WorkKind
from ostler.engine.leader import Term
from ostler.store.adopted_installs import adopted_install_ids
from ostler.store.attempts import has_open_attempt
from ostler.store.instances import row_identities
from ostler.store.sightings import Sighting, all_sightings, drop_sightings, put_sightings
from ostler.store.watch_rows import owners_of
from ostler.usecases.record import Edit, Occasion
from ostler.usecases.surplus import tell_of_found
from ostler.watch.each import each
from ostler.watch.families import Families
from ostler.watch.inheriting import given
from ostler.watch.telling import note
from ostler.watch.tower import Tower

_TOLD = frozenset({Kinship.ORPHAN, Kinship.DUPLICATE, Kinship.LATE})


@dataclass(frozen=True, slots=True)
class Kin:
    """An upstream, and what it is to us."""

    upstream: Upstream
    relation: Relation


@dataclass(frozen=True, slots=True)
class Census:
    """Everything that is listed and no row's own, and what was put down of such before."""

    kin: Sequence[Kin]
    known: Mapping[str, Sighting]

    def siblings(self) -> Mapping[str, Sequence[Upstream]]:
        """Return the duplicates by the instance whose mark they carry."""
        found: dict[str, list[Upstream]] = defaultdict(list)
        for each_kin in self.kin:
            instance_id = each_kin.relation.instance_id
            if each_kin.relation.kinship is Kinship.DUPLICATE and instance_id is not None:
                found[instance_id].append(each_kin.upstream)
        return found


@dataclass(frozen=True, slots=True)
class Differences:
    """What is to be written of a census."""

    put: list[Sighting] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    told: list[Sighting] = field(default_factory=list)


class Unowned:
    """Deals with what is no row's own."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower
        self._families = Families(tower)

    async def census(self, upstreams: Sequence[Upstream]) -> Census:
        """Find out what each of them is to us."""
        install_id = self._tower.config.install_id
        return await self._tower.database.read(lambda connection: _census(connection, install_id, upstreams))

    async def put_down(self, term: Term, census: Census, *, is_complete: bool) -> None:
        """Write what changed: what is new, what looks otherwise, and what is not listed any more."""
        occasion = self._tower.occasion()
        found = differences(census, occasion.at, is_complete=is_complete)
        if found.put or found.drop:
            await term.write(lambda connection: self._write(connection, found, occasion))

    async def deal_with(self, term: Term, census: Census) -> None:
        """Do what each kinship wants."""

        async def one(kin: Kin) -> None:
            match kin.relation.kinship:
                case Kinship.OURS:
                    await self._seen_again(term, kin)
                case Kinship.ORPHAN:
                    await self._adopt(term, kin)
                case Kinship.AWAITED:
                    await self._give(term, kin)
                case Kinship.LATE:
                    await self._remove(term, kin)
                case Kinship.DUPLICATE | Kinship.OTHER_INSTALLATION | Kinship.STRANGER:
                    pass

        await each(census.kin, one, lambda kin: kin.upstream.id)
        await self._families.judge(term, census.siblings())

    def _write(self, connection: Connection, found: Differences, occasion: Occasion) -> None:
        for sighting in found.told:  # first, for rows of instances are locked before those of sightings
            tell_of_found(self._tower.recorder, connection, sighting, occasion)
        put_sightings(connection, found.put)
        drop_sightings(connection, found.drop)

    async def _seen_again(self, term: Term, kin: Kin) -> None:
        """A tombstone's own: it is billed. What became a living row's own meanwhile is told to it, too."""
        instance_id = kin.relation.instance_id
        if instance_id is not None and sight_event(State.TERMINATED, kin.upstream.state) is not None:
            await note(self._tower, term, instance_id, kin.upstream)

    async def _adopt(self, term: Term, kin: Kin) -> None:
        if kin.upstream.state in REMOVAL:
            return
        occasion, mark = self._tower.occasion(), kin.relation.mark
        await term.write(
            lambda connection: self._tower.adoption.take_in(connection, kin.upstream, mark, occasion)
        )

    async def _give(self, term: Term, kin: Kin) -> None:
        """The attempt that is looked up assigns it; where none is, it surfaced after all."""
        instance_id, occasion = kin.relation.instance_id, self._tower.occasion()
        if instance_id is None or kin.upstream.state in REMOVAL:
            return

        def work(connection: Connection) -> None:
            before = self._tower.recorder.lock(connection, instance_id)
            if before.instance.upstream_id is not None or before.instance.state is State.TERMINATED:
                return
            if has_open_attempt(connection, instance_id):
                edit = Edit(Change(before.instance).asking(WorkKind.CREATE))
            else:
                edit = given(connection, before, kin.upstream, occasion)
            self._tower.recorder.write(connection, before, edit, occasion)

        await term.write(work)

    async def _remove(self, term: Term, kin: Kin) -> None:
        if kin.upstream.state not in REMOVAL:
            await term.write(lambda connection: self._tower.removal.ask(connection, kin.upstream.id))


def differences(census: Census, at: datetime, *, is_complete: bool) -> Differences:
    """Say what is to be written of a census; what was last seen when is not worth a write."""
    found = Differences()
    listed = {kin.upstream.id for kin in census.kin if kin.relation.kinship is not Kinship.OURS}
    owned = {kin.upstream.id for kin in census.kin if kin.relation.kinship is Kinship.OURS}
    for kin in census.kin:
        if kin.upstream.id in owned:
            continue
        sighting = sighting_of(kin.upstream, kin.relation, at)
        known = census.known.get(sighting.upstream_id)
        if known is None or not _looks_like(sighting, known):
            found.put.append(sighting)
        if known is None and sighting.kinship in _TOLD:
            found.told.append(sighting)
    found.drop.extend(
        known for known in census.known if known in owned or (is_complete and known not in listed)
    )
    return found


def sighting_of(upstream: Upstream, related: Relation, at: datetime) -> Sighting:
    """Return what is put down of an upstream."""
    price = upstream.price_per_gpu_hour
    return Sighting(
        upstream_id=upstream.id,
        name=upstream.name,
        kinship=related.kinship,
        mark=related.mark,
        state=upstream.state,
        word=upstream.status,
        region=upstream.region_name.partition(" (")[0],
        product_name=upstream.product_name,
        gpus=upstream.gpus,
        price_per_hour=None if price is None else price * max(1, upstream.gpus),
        created_at=upstream.created_at,
        first_seen_at=at,
        last_seen_at=at,
    )


def _looks_like(sighting: Sighting, known: Sighting) -> bool:
    dated = replace(sighting, first_seen_at=known.first_seen_at, last_seen_at=known.last_seen_at)
    return dated == known


def _census(connection: Connection, install_id: str, upstreams: Sequence[Upstream]) -> Census:
    owners = owners_of(connection, [upstream.id for upstream in upstreams])
    marks = (parse_mark(upstream.name) for upstream in upstreams)
    named = {mark.instance_id for mark in marks if mark is not None} | set(owners.values())
    rows = row_identities(connection, named) if named else {}
    ours = household(install_id, rows, adopted_install_ids(connection))
    kin = [Kin(upstream, relation(upstream.id, upstream.name, ours)) for upstream in upstreams]
    return Census(kin, {known.upstream_id: known for known in all_sightings(connection)})
