"""Warning of what the cloud will wipe: it keeps the disk of a stopped instance for some days only.

Told once for each instant, a day ahead. What was told is remembered for the term, and by the event itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.cloud.upstream import Upstream
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Change
from ostler.domain.lifecycle import State
from ostler.engine.leader import Term
from ostler.store.events import last_event, was_told
from ostler.store.watch_rows import WatchRow
from ostler.usecases.record import Edit
from ostler.watch.each import each as each_one
from ostler.watch.tower import Tower

NOTICE = timedelta(days=1)
_MOST_READ = 500  # in one pass; the others have days to come
_EXITED = State.EXITED.value


@dataclass(frozen=True, slots=True)
class _Wipe:
    """When a disk is wiped: as the cloud says it, and by our clock."""

    expires_at: datetime
    at: datetime


class Expiring:
    """Warns, for one term of watching."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower
        self._wipes: dict[str, _Wipe] = {}  # by instance
        self._told: dict[str, datetime] = {}

    async def warn(self, term: Term, rows: Mapping[str, WatchRow], upstreams: Iterable[Upstream]) -> None:
        """Warn of what is listed as stopped and will be wiped within the notice. `rows` are by upstream."""
        kept = [
            (row, upstream)
            for upstream in upstreams
            if upstream.data_expires_at is not None
            if (row := rows.get(upstream.id)) is not None and row.state == _EXITED
        ]
        ids = {row.id for row, _ in kept}
        self._told = {key: value for key, value in self._told.items() if key in ids}
        self._wipes = {key: value for key, value in self._wipes.items() if key in ids}
        if new := [each for each in kept if self._is_new(*each)][:_MOST_READ]:
            self._wipes |= await self._tower.database.read(lambda connection: _wipes(connection, new))
        limit = self._tower.clock.now() + NOTICE
        due = [(row, wipe) for row, _ in kept if (wipe := self._wipes.get(row.id)) and wipe.at <= limit]
        untold = [(row, wipe) for row, wipe in due if self._told.get(row.id) != wipe.expires_at]
        await each_one(untold, lambda item: self._tell(term, *item), lambda item: item[0].id)

    def _is_new(self, row: WatchRow, upstream: Upstream) -> bool:
        known = self._wipes.get(row.id)
        return known is None or known.expires_at != upstream.data_expires_at

    async def _tell(self, term: Term, row: WatchRow, wipe: _Wipe) -> None:
        said = wipe.expires_at.isoformat(timespec="seconds").replace("+00:00", "Z")
        details = {"dataExpiresAt": said}

        def write(connection: Connection) -> None:
            before = self._tower.recorder.lock(connection, row.id)
            is_over = before.instance.state is not State.EXITED
            if is_over or was_told(connection, row.id, PublicEvent.DATA_EXPIRING, details):
                return
            reason = f"the cloud wipes its disk at {said}, unless it is started before"
            change = Change(before.instance).telling(PublicEvent.DATA_EXPIRING, reason)
            self._tower.recorder.write(
                connection, before, Edit(change, details=details), self._tower.occasion()
            )

        await term.write(write)
        self._told[row.id] = wipe.expires_at


def _wipes(connection: Connection, kept: Iterable[tuple[WatchRow, Upstream]]) -> dict[str, _Wipe]:
    """Count the time that the cloud keeps a disk from when the stop was seen here: its clock is not ours."""
    found = {}
    for row, upstream in kept:
        exited = last_event(connection, row.id, PublicEvent.EXITED)
        if upstream.data_expires_at is not None and upstream.stopped_at is not None:
            stopped_at = upstream.stopped_at if exited is None else exited.at
            span = upstream.data_expires_at - upstream.stopped_at
            found[row.id] = _Wipe(upstream.data_expires_at, stopped_at + span)
    return found
