"""Forgetting answers: what was answered under an Idempotency-Key is of no use once the key may be used again.

Periodic, a batch at a time. An old answer is never given, whether or not it was forgotten in time: this only
keeps the table small.
"""

from dataclasses import dataclass
from datetime import timedelta

from ostler.clock import Clock
from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done
from ostler.store.idempotency import delete_answers
from ostler.store.jobs import Priority
from ostler.usecases.clearing import clear
from ostler.usecases.idempotent import KEPT_FOR

FORGET_ANSWERS = Kind("requests.clean_up", priority=Priority.LOW, every=timedelta(minutes=30))


@dataclass(frozen=True, slots=True)
class ForgetAnswers:
    """The body of `FORGET_ANSWERS`."""

    clock: Clock

    async def __call__(self, context: JobContext) -> Done:
        before = self.clock.now() - KEPT_FOR
        await clear(context, lambda connection, limit: delete_answers(connection, before, limit))
        return Done()
