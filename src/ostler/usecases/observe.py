"""Taking in what the cloud showed of one upstream: from a look to a changed row, in one transaction.

A GET is kept in full and compared with what was bought: a price or billing mode that differs is an event
and an error, and the ledger goes on at the true price. A row of a list only moves its instance. Called by
the jobs and by the watcher; whether a sight is believed is the domain's business.
"""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from ostler.cloud.upstream import Upstream
from ostler.domain.catalogue import BillingMode
from ostler.domain.events import PublicEvent
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Change, Instance
from ostler.domain.lifecycle import Event
from ostler.domain.money import Usd
from ostler.domain.observation import seen
from ostler.domain.outcomes import start_failed
from ostler.store.instances import Placement
from ostler.store.sealing import Sealer
from ostler.usecases.details import keep_expiry, keep_look, sight_of
from ostler.usecases.record import Edit, Occasion, Recorded, Recorder

_HOURS_PER_DAY = 24


@dataclass(frozen=True, slots=True)
class Observation:
    """Takes in looks."""

    recorder: Recorder
    sealer: Sealer

    def note(
        self, connection: Connection, instance_id: str, upstream: Upstream, occasion: Occasion
    ) -> Recorded:
        """Take in a look at an instance's upstream; one at any other upstream changes nothing."""
        before = self.recorder.lock(connection, instance_id)
        if before.instance.upstream_id != upstream.id:
            return Recorded(before)
        change = seen(before.instance, sight_of(upstream), occasion.at)
        placement = None if before.placement is None else as_shown(before.placement, upstream)
        if before.placement is not None and placement is not None:
            change = _compared(change, before.placement, placement, occasion)
        recorded = self.recorder.write(connection, before, Edit(change, placement=placement), occasion)
        if upstream.connection is not None:
            keep_look(connection, instance_id, upstream, self.sealer)
        elif upstream.data_expires_at is not None:
            keep_expiry(connection, instance_id, upstream)
        return recorded


def as_shown(bought: Placement, upstream: Upstream) -> Placement:
    """Return the placement with the prices and the billing mode that the cloud shows, where it shows them."""
    shown = bought
    is_prepaid = bought.offer.billing_mode is BillingMode.MONTHLY  # paid for a term, not by the hour
    if upstream.price_per_gpu_hour is not None and upstream.gpus and not is_prepaid:
        shown = replace(shown, price_per_hour=upstream.price_per_gpu_hour * upstream.gpus)
    if upstream.billing_mode is not None:
        shown = replace(shown, offer=replace(shown.offer, billing_mode=upstream.billing_mode))
    if upstream.stopped_disk_price_per_gb_day is not None:
        per_day = upstream.stopped_disk_price_per_gb_day * upstream.rootfs_gb
        shown = replace(shown, storage_price_per_hour=Usd(round(per_day.units / _HOURS_PER_DAY)))
    return shown


def _compared(change: Change, bought: Placement, shown: Placement, occasion: Occasion) -> Change:
    is_same_price = shown.price_per_hour == bought.price_per_hour
    is_same_mode = shown.offer.billing_mode == bought.offer.billing_mode
    if is_same_price and is_same_mode:
        return change
    failure = Failure(
        FailureCode.OFFER_MISMATCH,
        f"asked for {bought.offer.billing_mode} at {bought.price_per_hour} per hour, "
        f"the cloud gave {shown.offer.billing_mode} at {shown.price_per_hour}",
        occasion.at,
        hint="delete it if that is not wanted",
        still_billed=True,
    )
    noted = change.then(lambda instance: Change(replace(instance, error=failure)))
    told = noted.telling(PublicEvent.OFFER_MISMATCH, failure.message)
    return told.then(lambda instance: _capped(instance, shown, failure))


def _capped(instance: Instance, shown: Placement, failure: Failure) -> Change:
    """What turned out dearer than its owner's cap before it was ever usable has failed."""
    cap = instance.spec.max_price_per_hour
    if cap is None or shown.price_per_hour <= cap:
        return Change(instance)
    return start_failed(instance, Event.STARTUP_FAILED, failure)
