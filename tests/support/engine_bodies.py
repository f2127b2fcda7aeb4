"""Bodies for tests of the engine: `Notes` remembers what it ran for, `Gate` holds whoever comes in.

They stand for any job's work; the engine does not know the difference.
"""

import asyncio

from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome


class Notes:
    """A body that notes what it ran for, and answers what it was told to, in order; then Done."""

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.seen: list[JobContext] = []
        self._outcomes = list(outcomes)

    async def __call__(self, context: JobContext) -> Outcome:
        self.seen.append(context)
        outcome = self._outcomes.pop(0) if self._outcomes else Done()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def subjects(self) -> list[str]:
        return [context.subject for context in self.seen]


class Gate:
    """A body that waits inside until it is let out."""

    def __init__(self) -> None:
        self.entered: list[JobContext] = []
        self.has_entered = asyncio.Event()
        self.may_leave = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self, context: JobContext) -> Outcome:
        self.entered.append(context)
        self.has_entered.set()
        try:
            await self.may_leave.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return Done()
