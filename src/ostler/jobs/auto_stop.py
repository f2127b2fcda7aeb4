"""Looking at one instance that nobody marks as used, because somebody asked for it: idle, it is stopped.

What the watcher's brakes do in every pass, now. One that was used meanwhile, or is stopped, is left alone.
"""

from dataclasses import dataclass

from ostler.cloud.lane import Lane
from ostler.domain.errors import VerbRefused
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, GiveUp, Outcome
from ostler.jobs.workshop import Workshop
from ostler.usecases.braking import Braking
from ostler.usecases.idle_stop import Asked, IdleStop, idle_horizon
from ostler.usecases.verbs import Verbs

_ASKED = Asked("auto stop", Lane.BACKGROUND)


@dataclass(frozen=True, slots=True)
class AutoStopCheck:
    """The body of `auto_stop_check`."""

    shop: Workshop
    verbs: Verbs

    async def __call__(self, context: JobContext) -> Outcome:
        row, now = await self.shop.read(context), self.shop.clock.now()
        horizon = None if row is None else idle_horizon(row, now)
        if row is None or horizon is None or now < horizon.acts_at:
            return Done()
        braking = Braking(self.shop.recorder, self.verbs)
        idle_stop = IdleStop(context.database, self.shop.cloud, braking, self.shop.clock)
        try:
            await idle_stop.stop(row, horizon, context.write, _ASKED)
        except VerbRefused as refusal:
            return GiveUp(str(refusal))
        return Done()
