"""Acting on a brake that was reached, and telling of it: inside the transaction of whoever judged it.

Whether a brake is reached is `domain/brakes.py`'s to say. It is asked once more here, under the row's lock:
meanwhile the limit may have been extended, or the owner been quicker.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.domain.brakes import STOP_REASON, Horizon, horizons
from ostler.domain.conflicts import Verb
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Change
from ostler.domain.intents import Order
from ostler.store.events import was_told
from ostler.usecases.meters import meter_of
from ostler.usecases.record import Edit, Occasion, Recorder
from ostler.usecases.verbs import Verbs


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told of a limit."""

    name: PublicEvent
    horizon: Horizon
    reason: str


@dataclass(frozen=True, slots=True)
class Braking:
    """Stops or deletes what reached a limit, and tells of limits."""

    recorder: Recorder
    verbs: Verbs

    def act(self, connection: Connection, instance_id: str, horizon: Horizon, occasion: Occasion) -> None:
        """Do what a brake asks for, if it still does; raise VerbRefused when that does not fit now."""
        row = self.recorder.lock(connection, instance_id)
        still_ahead = horizons(row.instance, meter_of(connection, row, occasion.at))
        if any(each.brake is horizon.brake and each.acts_at <= occasion.at for each in still_ahead):
            reason = STOP_REASON[horizon.brake]
            order = Order(horizon.verb, occasion.at, reason, why=reached(horizon))
            self.verbs.carry_out(connection, instance_id, order, occasion)

    def tell(self, connection: Connection, instance_id: str, notice: Notice, occasion: Occasion) -> None:
        """Tell of a limit, once for each value that the limit has."""
        before = self.recorder.lock(connection, instance_id)
        horizon = notice.horizon
        details = {"limit": horizon.brake.value, "at": horizon.limit}
        if was_told(connection, instance_id, notice.name, details):
            return
        change = Change(before.instance).telling(notice.name, notice.reason)
        self.recorder.write(connection, before, Edit(change, details=details), occasion)


def reached(horizon: Horizon) -> str:
    """Return why a brake acts, in words."""
    disks = "; its disk is still billed" if horizon.verb is Verb.STOP else ""
    return f"{horizon.brake.value} is reached{disks}"
