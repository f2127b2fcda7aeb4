"""Recovering what the cloud took back: a spot instance that its owner still wants running is migrated.

Whether that is the cloud's migration or a new attempt elsewhere is the instance's `onReclaim`; that it
happens at all is the installation's setting.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.domain.conflicts import Verb
from ostler.domain.errors import VerbRefused
from ostler.domain.instance import Change, Instance
from ostler.domain.intents import Order
from ostler.domain.lifecycle import State
from ostler.domain.phases import Wanted
from ostler.domain.spec import OnReclaim
from ostler.domain.work import WorkKind
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome
from ostler.jobs.workshop import Workshop
from ostler.usecases.record import Edit, Occasion
from ostler.usecases.verbs import Verbs


@dataclass(frozen=True, slots=True)
class Recover:
    """The body of `recover_instance`."""

    shop: Workshop
    verbs: Verbs
    is_enabled: bool = True  # MIGRATION_ENABLED, and not MIGRATION_DRY_RUN

    async def __call__(self, context: JobContext) -> Outcome:
        if not self.is_enabled:
            return Done()
        at = self.shop.clock.now()
        order = Order(Verb.MIGRATE, at, why="the cloud took the spot node back")

        def write(connection: Connection) -> None:
            row = self.shop.recorder.lock(connection, context.subject)
            occasion = Occasion(at, "recovery")
            if not is_to_recover(row.instance):
                return
            if row.instance.predecessor_id is not None:  # what replaced it was taken back, too
                change = Change(row.instance).asking(WorkKind.CLEAR_PREDECESSOR)
                self.shop.recorder.write(connection, row, Edit(change), occasion)
                return
            self.verbs.carry_out(connection, context.subject, order, occasion)

        try:
            await context.write(write)
        except VerbRefused:
            return Done()  # something else is under way: the owner's wish comes first
        return Done()


def is_to_recover(instance: Instance) -> bool:
    """Tell whether an instance was taken back although its owner wants it running, and is to come back."""
    is_taken = instance.state is State.EXITED and instance.is_reclaimed
    return is_taken and instance.wanted is Wanted.RUNNING and instance.spec.on_reclaim is not OnReclaim.NONE
