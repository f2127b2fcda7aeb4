"""Resealing: after the key was changed, everything that former keys sealed is sealed anew.

Asked for at every start that is given former keys. It keeps no account of how far it got: what stands under
the present key is passed over, so a run that was stopped anywhere is simply begun again. A blob that changed
meanwhile is left as it is, for only the present key seals.
"""

from dataclasses import dataclass
from functools import partial

import structlog
from sqlalchemy import Connection

from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done, GiveUp, Outcome
from ostler.store.jobs import Priority
from ostler.store.sealed_places import PLACES, SealedBlob, SealedPlace, blobs_after, replace_blob
from ostler.store.sealing import SealBroken, Sealer

RESEAL = Kind("secrets.reseal", priority=Priority.LOW)
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Count:
    renewed: int = 0
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Reseal:
    """The body of `RESEAL`."""

    sealer: Sealer

    async def __call__(self, context: JobContext) -> Outcome:
        count = _Count()
        for place in PLACES:
            await self._renew(context, place, count)
        _log.info("seals renewed", renewed=count.renewed, unreadable=count.unreadable)
        if count.unreadable:
            return GiveUp(f"{count.unreadable} stored secrets open with none of the keys that were given")
        return Done()

    async def _renew(self, context: JobContext, place: SealedPlace, count: _Count) -> None:
        last = ""
        while batch := await context.database.read(partial(blobs_after, place=place, key=last)):
            last = batch[-1].key
            renewed = [pair for blob in batch if (pair := self._pair(blob, count)) is not None]
            if renewed:
                await context.write(partial(_replace_all, renewed=renewed))
                count.renewed += len(renewed)

    def _pair(self, blob: SealedBlob, count: _Count) -> tuple[SealedBlob, bytes] | None:
        try:
            sealed = self.sealer.renewed(blob.sealed)
        except SealBroken:
            count.unreadable += 1
            return None
        return None if sealed is None else (blob, sealed)


def _replace_all(connection: Connection, renewed: list[tuple[SealedBlob, bytes]]) -> None:
    for blob, sealed in renewed:
        replace_blob(connection, blob, sealed)
