"""Judging the startup clocks of what starts: a warning while an image is still being pulled, else the end.

Only rows that were seen just now are judged: while the cloud is away, nobody knows how far a start has
come.
"""

from collections.abc import Collection
from datetime import datetime
from typing import assert_never

from sqlalchemy import Connection

from ostler.domain.deadlines import StartupClock, startup_clock
from ostler.domain.events import PublicEvent
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Change, Instance
from ostler.domain.lifecycle import Event, State
from ostler.domain.outcomes import start_failed
from ostler.engine.leader import Term
from ostler.store.events import last_event
from ostler.store.instances import InstanceRow, rows_in_states
from ostler.usecases.record import Edit, Occasion
from ostler.watch.each import each
from ostler.watch.tower import Tower


class Startups:
    """Judges."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower
        self._warned: dict[str, datetime] = {}  # instance → the start that was warned of

    async def judge(self, term: Term, seen: Collection[str]) -> None:
        """Judge what starts and was seen, by upstream."""
        now = self._tower.clock.now()
        rows = await self._tower.database.read(
            lambda connection: rows_in_states(connection, {State.STARTING})
        )
        starting = {row.instance.id for row in rows}
        self._warned = {key: at for key, at in self._warned.items() if key in starting}
        late = [
            row
            for row in rows
            if row.instance.upstream_id in seen and clock_of(row.instance, now) is not StartupClock.RUNNING
        ]

        async def one(row: InstanceRow) -> None:
            if self._warned.get(row.instance.id) != row.instance.start_began_at or _is_over(row, now):
                occasion = self._tower.occasion()
                began_at = await term.write(lambda connection: self._act(connection, row, occasion))
                if began_at is not None:
                    self._warned[row.instance.id] = began_at

        await each(late, one, lambda row: row.instance.id)

    def _act(self, connection: Connection, seen: InstanceRow, occasion: Occasion) -> datetime | None:
        """Warn, or end the start; return which start was warned of."""
        before = self._tower.recorder.lock(connection, seen.instance.id)
        instance = before.instance
        if instance.state is not State.STARTING or instance.start_began_at is None:
            return None
        clock = clock_of(instance, occasion.at)
        match clock:
            case StartupClock.RUNNING:
                return None
            case StartupClock.LATE if _was_warned(connection, instance):
                return instance.start_began_at
            case StartupClock.LATE:
                change = Change(instance).telling(PublicEvent.LIMIT_WARNING, _late(instance))
            case StartupClock.OVER:
                change = start_failed(instance, Event.STARTUP_DEADLINE, _failure(instance, occasion.at))
            case _:
                assert_never(clock)
        self._tower.recorder.write(connection, before, Edit(change), occasion)
        return instance.start_began_at


def clock_of(instance: Instance, now: datetime) -> StartupClock:
    """Return what the startup clock of an instance shows."""
    if instance.start_began_at is None:
        return StartupClock.RUNNING
    return startup_clock(instance.start_began_at, instance.spec.startup_timeout, instance.phase, now)


def _is_over(row: InstanceRow, now: datetime) -> bool:
    return clock_of(row.instance, now) is StartupClock.OVER


def _was_warned(connection: Connection, instance: Instance) -> bool:
    told = last_event(connection, instance.id, PublicEvent.LIMIT_WARNING)
    return told is not None and instance.start_began_at is not None and told.at >= instance.start_began_at


def _late(instance: Instance) -> str:
    limit = instance.spec.startup_timeout.total_seconds()
    return f"not running after {limit:g} s: its image is still being pulled"


def _failure(instance: Instance, at: datetime) -> Failure:
    limit = instance.spec.startup_timeout.total_seconds()
    return Failure(
        FailureCode.STARTUP_TIMEOUT,
        f"not running after {limit:g} s; the cloud says {instance.upstream_word!r}",
        at,
        hint="try again, in another region, or with a longer startupTimeoutSeconds",
    )
