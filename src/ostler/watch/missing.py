"""Finding out whether what a pass did not show is gone, and concluding it when it is.

A few GETs per pass, those first that nobody here deleted. What a GET finds after all is taken in; what is
gone leaves its row terminated, unless another upstream of the same create goes on in its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.refusals import CloudRefusal, Gone
from ostler.cloud.upstream import Upstream
from ostler.domain.duplicates import judge_family
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.outcomes import gone
from ostler.domain.sightings import is_deleted
from ostler.domain.spec import OnReclaim
from ostler.engine.leader import Term
from ostler.store.attempts import has_open_attempt
from ostler.store.watch_rows import WatchRow
from ostler.usecases.record import Edit, Occasion
from ostler.watch.absence import Absences
from ostler.watch.each import each
from ostler.watch.families import Settling, family_of
from ostler.watch.inheriting import inherited
from ostler.watch.telling import note
from ostler.watch.tower import Tower

_MOST_GETS = 30  # per pass


@dataclass(frozen=True, slots=True)
class _NotFound:
    """The cloud's word about one row's upstream."""

    instance_id: str
    upstream_id: str
    asked_at: datetime
    heirs: Sequence[Upstream] = ()


class Missing:
    """Asks for what is missing, one by one."""

    def __init__(self, tower: Tower, absences: Absences) -> None:
        self._tower = tower
        self._absences = absences

    async def ask(
        self, term: Term, missing: Sequence[WatchRow], siblings: Mapping[str, Sequence[Upstream]]
    ) -> None:
        """Ask for some of what a complete pass missed."""
        now = self._tower.clock.now()
        candidates = [
            row for row in missing if row.upstream_id and self._absences.is_to_be_asked(row.upstream_id, now)
        ]
        candidates.sort(key=lambda row: row.state == State.TERMINATING.value)

        async def one(row: WatchRow) -> None:
            await self.look(term, row, siblings.get(row.id, ()))

        await each(candidates[:_MOST_GETS], one, lambda row: row.id)

    async def look(self, term: Term, row: WatchRow, heirs: Sequence[Upstream] = ()) -> bool:
        """Ask for one upstream, and take in or conclude what follows; tell whether it was found."""
        upstream_id = row.upstream_id
        if upstream_id is None:
            return False
        try:
            upstream = await self._tower.cloud.get(upstream_id, lane=Lane.WATCHER)
        except Gone as refusal:
            self._absences.not_found(upstream_id, refusal.observed_at)
            word = _NotFound(row.id, upstream_id, refusal.observed_at, heirs)
            await term.write(lambda connection: self._conclude(connection, word, self._tower.occasion()))
            return False
        except CloudRefusal:
            return False  # nothing was said about it
        self._absences.seen([upstream_id])
        await note(self._tower, term, row.id, upstream)
        return True

    def _conclude(self, connection: Connection, word: _NotFound, occasion: Occasion) -> None:
        before = self._tower.recorder.lock(connection, word.instance_id)
        if not self._is_over(connection, before.instance, word, occasion.at):
            return
        heir = self._heir(connection, word)
        if heir is None:
            edit = Edit(gone(before.instance, word.asked_at))
        else:
            edit = inherited(connection, before, heir, occasion)
        self._tower.recorder.write(connection, before, edit, occasion)

    def _is_over(self, connection: Connection, instance: Instance, word: _NotFound, now: datetime) -> bool:
        if instance.upstream_id != word.upstream_id or instance.state is State.TERMINATED:
            return False
        was_seen_since = instance.observed_at is not None and instance.observed_at >= word.asked_at
        if was_seen_since or _is_being_replaced(instance) or has_open_attempt(connection, instance.id):
            return False
        placed_at, settle = instance.placed_at or instance.created_at, self._tower.config.settle
        command, is_alone = instance.command, instance.predecessor_id is None
        is_ours = instance.state is State.TERMINATING and is_alone
        if is_ours and command is not None and is_deleted(command, word.asked_at, placed_at, settle):
            return True
        return self._absences.is_gone(word.upstream_id, placed_at, settle, now)

    def _heir(self, connection: Connection, word: _NotFound) -> Upstream | None:
        """Return what the instance goes on with; None: nothing of it is left, or wanted."""
        if not word.heirs:
            return None
        settling = Settling(self._tower.clock.now(), self._tower.config.settle)
        family = family_of(connection, word.instance_id, word.heirs, settling)
        if family is None or not family.is_wanted:
            return None
        kept = judge_family(family).keep
        return next((each_heir for each_heir in word.heirs if each_heir.id == kept), None)


def _is_being_replaced(instance: Instance) -> bool:
    """While it is recreated elsewhere, its old upstream may go."""
    is_recreated = instance.state is State.MIGRATING and instance.spec.on_reclaim is OnReclaim.RECREATE
    return is_recreated and instance.is_reclaimed and instance.predecessor_id is None
