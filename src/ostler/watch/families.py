"""Judging duplicates: which upstream of an instance stays, and which are removed now.

Removing the wrong one destroys work, so the row's own is proven alive by a GET first; only what the verdict
names is handed to the removal, inside a transaction that finds the row as it was judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.cloud.lane import Lane
from ostler.cloud.refusals import CloudRefusal
from ostler.cloud.upstream import Upstream
from ostler.domain.attempts import settles_at
from ostler.domain.duplicates import Family, Sibling, judge_family
from ostler.domain.lifecycle import State
from ostler.domain.marks import parse_mark
from ostler.domain.upstream import REMOVAL
from ostler.engine.leader import Term
from ostler.store.attempts import attempts_of, has_open_attempt
from ostler.store.instances import find_instance
from ostler.watch.each import each
from ostler.watch.tower import Tower

_MOST_PER_PASS = 20  # each costs a GET
_UNWANTED = frozenset({State.TERMINATING, State.TERMINATED})


@dataclass(frozen=True, slots=True)
class Settling:
    """By when the last answer to an attempt may have had its effect."""

    now: datetime
    settle: timedelta


class Families:
    """Judges the upstreams of instances that have more than one."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower

    async def judge(self, term: Term, siblings: Mapping[str, Sequence[Upstream]]) -> None:
        """Judge some families; the others wait for the next pass."""

        async def one(instance_id: str) -> None:
            await self._judge(term, instance_id, siblings[instance_id])

        await each(sorted(siblings)[:_MOST_PER_PASS], one, lambda instance_id: instance_id)

    async def _judge(self, term: Term, instance_id: str, siblings: Sequence[Upstream]) -> None:
        family = await self._family(instance_id, siblings)
        if family is None:
            return
        if family.is_wanted and family.is_settled and not family.is_attempt_open:
            alive = await self._proven_alive(family.own)
            family = replace(family, proven_alive=alive)
            if not alive:  # then nothing is removed; see `missing.py` for when it is gone
                return
        remove = judge_family(family).remove
        if remove:
            await term.write(lambda connection: self._remove(connection, instance_id, family, remove))

    async def _family(self, instance_id: str, siblings: Sequence[Upstream]) -> Family | None:
        settling = Settling(self._tower.clock.now(), self._tower.config.settle)
        return await self._tower.database.read(
            lambda connection: family_of(connection, instance_id, siblings, settling)
        )

    async def _proven_alive(self, upstream_id: str | None) -> frozenset[str]:
        if upstream_id is None:
            return frozenset()
        try:
            shown = await self._tower.cloud.get(upstream_id, lane=Lane.WATCHER)
        except CloudRefusal:
            return frozenset()
        return frozenset() if shown.state in REMOVAL else frozenset({shown.id})

    def _remove(
        self, connection: Connection, instance_id: str, family: Family, remove: Sequence[str]
    ) -> None:
        before = self._tower.recorder.lock(connection, instance_id)
        if before.instance.upstream_id != family.own or has_open_attempt(connection, instance_id):
            return
        for upstream_id in remove:
            if upstream_id != before.instance.predecessor_id:
                self._tower.removal.ask(connection, upstream_id)


def family_of(
    connection: Connection, instance_id: str, siblings: Sequence[Upstream], settling: Settling
) -> Family | None:
    """Return what is known of an instance's upstreams, none of them proven alive; None: there is no row."""
    row = find_instance(connection, instance_id)
    if row is None:
        return None
    attempts = attempts_of(connection, instance_id)
    settled = (settles_at(each.attempt, settling.settle) for each in attempts)
    marks = ((upstream, parse_mark(upstream.name)) for upstream in siblings if upstream.state not in REMOVAL)
    return Family(
        own=row.instance.upstream_id,
        others=[Sibling(each.id, mark.attempt, each.created_at) for each, mark in marks if mark is not None],
        known_attempts={each.attempt.number for each in attempts},
        is_attempt_open=has_open_attempt(connection, instance_id),
        is_settled=all(at is None or at <= settling.now for at in settled),
        is_wanted=row.instance.state not in _UNWANTED,
    )
