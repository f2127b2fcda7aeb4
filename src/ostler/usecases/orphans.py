"""Upstreams that are no row's own: seen with their price, adopted into rows, or removed.

An orphan carries our mark and gets a row under the id in its mark; a stranger gets one only when somebody
adopts it by hand. Removing an orphan first gives it a row, so that the delete is an operation like any
other and never given up. Strangers, and what belongs to another installation, are left alone until they
are adopted.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import Gone
from ostler.cloud.upstream import Upstream
from ostler.domain.attempts import Attempt, AttemptState
from ostler.domain.catalogue import BillingMode
from ostler.domain.conflicts import Verb
from ostler.domain.errors import Missing, NotOurs, Thing
from ostler.domain.intents import Order
from ostler.domain.kinship import Kinship
from ostler.domain.marks import Mark, parse_mark, unmarked_name
from ostler.domain.money import Usd
from ostler.domain.observation import adopted
from ostler.domain.offers import OfferKey
from ostler.domain.spec import InstanceSpec
from ostler.store.adopted_installs import adopt
from ostler.store.attempts import AttemptRow, insert_attempt
from ostler.store.database import Database
from ostler.store.instances import Placement, find_instance, id_by_upstream
from ostler.store.sealing import Sealer
from ostler.store.sightings import Sighting, all_sightings, drop_sightings, find_sighting
from ostler.usecases.audit import write_signed
from ostler.usecases.details import keep_look, sight_of
from ostler.usecases.ids import Ids
from ostler.usecases.observe import as_shown
from ostler.usecases.record import Edit, Occasion, Recorded, Recorder
from ostler.usecases.removal import Removal
from ostler.usecases.verbs import Answer, Verbs

_WITHOUT_ROW = frozenset({Kinship.ORPHAN, Kinship.STRANGER})
_TOO_MANY = frozenset({Kinship.DUPLICATE, Kinship.LATE})
_OURS = _TOO_MANY | {Kinship.ORPHAN}


@dataclass(frozen=True, slots=True)
class Adoption:
    """Gives rows to upstreams that have none. Also for the watcher, inside its own transaction."""

    recorder: Recorder
    sealer: Sealer
    ids: Ids

    def take_in(
        self, connection: Connection, upstream: Upstream, mark: Mark | None, occasion: Occasion
    ) -> Recorded | None:
        """Make a row for an upstream; None: one has it already, or has the id in its mark."""
        instance_id = self.ids.new(occasion.at) if mark is None else mark.instance_id
        is_taken = id_by_upstream(connection, upstream.id) or find_instance(connection, instance_id)
        if is_taken:
            return None
        attempt = _attempt(instance_id, upstream, mark)
        change = adopted(instance_id, _spec(upstream), sight_of(upstream), occasion.at)
        edit = Edit(change, placement=_placement(attempt, upstream), details={"name": upstream.name})
        recorded = self.recorder.admit(connection, edit, occasion)
        row = AttemptRow(attempt, upstream.region_name, upstream.product_name, occasion.at)
        insert_attempt(connection, row)
        if upstream.connection is not None:
            keep_look(connection, instance_id, upstream, self.sealer)
        drop_sightings(connection, [upstream.id])
        return recorded


class Orphans:
    """What people may do about upstreams that are no row's own."""

    def __init__(
        self, database: Database, cloud: Cloud, adoption: Adoption, verbs: Verbs, removal: Removal
    ) -> None:
        self._database = database
        self._cloud = cloud
        self._adoption = adoption
        self._verbs = verbs
        self._removal = removal

    async def list(self, kinships: Sequence[Kinship] = ()) -> Sequence[Sighting]:
        """Return them with their price, the longest known first."""
        return await self._database.read(lambda connection: all_sightings(connection, kinships))

    async def adopt(self, upstream_id: str, occasion: Occasion) -> Recorded:
        """Give an orphan or a stranger a row; raise Missing or NotOurs."""
        await self._require(upstream_id, _WITHOUT_ROW, "adopted")
        upstream = await self._look(upstream_id)
        return await write_signed(
            self._database, lambda connection: self._take_in(connection, upstream, occasion)
        )

    async def delete(self, upstream_id: str, occasion: Occasion) -> Answer | None:
        """Remove one of ours for good; None: a duplicate, which no operation follows."""
        kinship = await self._require(upstream_id, _OURS, "deleted")
        if kinship in _TOO_MANY:
            await write_signed(self._database, lambda connection: self._removal.ask(connection, upstream_id))
            return None
        upstream = await self._look(upstream_id)

        def work(connection: Connection) -> Answer:
            taken = self._take_in(connection, upstream, occasion)
            order = Order(Verb.DELETE, occasion.at)
            return self._verbs.carry_out(connection, taken.instance.id, order, occasion)

        return await write_signed(self._database, work)

    async def adopt_install(self, install_id: str, occasion: Occasion) -> bool:
        """Count another installation's upstreams as ours from the next pass on; False: they did already."""
        return await write_signed(
            self._database, lambda connection: adopt(connection, install_id, occasion.actor, occasion.at)
        )

    async def _require(self, upstream_id: str, allowed: Set[Kinship], verb: str) -> Kinship:
        seen = await self._database.read(lambda connection: find_sighting(connection, upstream_id))
        if seen is None:
            raise Missing(Thing.OTHER, upstream_id)
        if seen.kinship not in allowed:
            raise NotOurs(verb, seen.upstream_id, seen.kinship)
        return seen.kinship

    async def _look(self, upstream_id: str) -> Upstream:
        try:
            return await self._cloud.get(upstream_id, lane=Lane.USER)
        except Gone as error:
            raise Missing(Thing.OTHER, upstream_id) from error

    def _take_in(self, connection: Connection, upstream: Upstream, occasion: Occasion) -> Recorded:
        taken = self._adoption.take_in(connection, upstream, parse_mark(upstream.name), occasion)
        if taken is None:
            raise Missing(Thing.OTHER, upstream.id)
        return taken


def _spec(upstream: Upstream) -> InstanceSpec:
    """Return what would have been asked for; which template it came from, the cloud does not tell."""
    return InstanceSpec(
        name=unmarked_name(upstream.name) or upstream.id,
        product_name=upstream.product_name or upstream.product_id,
        template_id="",
        gpus=max(1, upstream.gpus),
        rootfs_gb=upstream.rootfs_gb or None,
        region=upstream.region_name or None,
        billing_mode=upstream.billing_mode or BillingMode.ON_DEMAND,
    )


def _attempt(instance_id: str, upstream: Upstream, mark: Mark | None) -> Attempt:
    return Attempt(
        instance_id=instance_id,
        number=1 if mark is None else mark.attempt,
        upstream_name=upstream.name,
        offer=OfferKey(
            upstream.product_id, upstream.region_id, upstream.billing_mode or BillingMode.ON_DEMAND
        ),
        price_per_hour=(upstream.price_per_gpu_hour or Usd(0)) * max(1, upstream.gpus),
        state=AttemptState.ADOPTED,
        upstream_id=upstream.id,
    )


def _placement(attempt: Attempt, upstream: Upstream) -> Placement:
    bought = Placement(
        attempt.number,
        attempt.offer,
        upstream.region_name.partition(" (")[0],  # "CODE (Place)"
        upstream.product_name,
        attempt.price_per_hour,
    )
    return as_shown(bought, upstream)
