"""Waiting until an instance is so: thousands may, and the database is read only when something happened.

All who wait for one instance share one *post*: it hears the instance's topic, reads the row once per
signal, and tells everybody. Signals that may have been lost are made up for by whoever delivers them
(`Signals.fire_all`).
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard, assert_never

from ostler.clock import Clock
from ostler.domain.failures import FailureCode
from ostler.domain.instance import USABLE_STATES, Instance
from ostler.domain.lifecycle import State
from ostler.domain.phases import Wanted
from ostler.domain.spec import OnReclaim
from ostler.domain.upstream import UpstreamState
from ostler.store.database import Database, StoreUnavailable
from ostler.store.instances import InstanceRow, find_instance
from ostler.usecases.asking import Asker, visible
from ostler.usecases.record import topic_of


class WaitFor(StrEnum):
    """What can be waited for."""

    READY = "ready"  # usable
    RUNNING = "running"
    EXITED = "exited"
    TERMINATED = "terminated"
    CHANGED = "changed"  # anything that is told of it but its age and cost


class Waited(StrEnum):
    """How waiting ended."""

    REACHED = "reached"
    TIMEOUT = "timeout"
    IMPOSSIBLE = "impossible"  # it can no longer become so by itself


@dataclass(frozen=True, slots=True)
class WaitResult:
    """How waiting ended, and the row as it was then."""

    waited: Waited
    row: InstanceRow
    is_news: bool = False  # it came while it was waited for: all who waited get it at the same moment


@dataclass(slots=True)
class _Post:
    """Where those stand who wait for one instance."""

    waiters: int = 0
    latest: InstanceRow | None = None
    news: asyncio.Future[None] | None = None  # done when `latest` is new, or the reading failed
    reading: asyncio.Task[None] | None = None
    is_outdated: bool = False  # a signal came, and the row was not read since
    stop_listening: Callable[[], None] = lambda: None


class Waiting:
    """Waits for instances. Lives on the event loop."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._posts: dict[str, _Post] = {}
        self._is_closed = False

    async def wait(self, instance_id: str, asker: Asker, wait_for: WaitFor, timeout_s: float) -> WaitResult:
        """Return once it is so, can no longer become so, or the time is over; raise Missing."""
        deadline = self._clock.monotonic() + timeout_s
        post = self._join(instance_id)  # before the row is read, so that no signal falls between
        try:
            row = first = await self._database.read(
                lambda connection: visible(connection, instance_id, asker)
            )
            while (verdict := verdict_of(first, row, wait_for)) is None:
                left_s = deadline - self._clock.monotonic()
                if left_s <= 0 or self._is_closed:
                    return WaitResult(Waited.TIMEOUT, row, is_news=self._is_closed)
                row = await _newer(post, row, left_s)
        finally:
            self._leave(instance_id, post)
        return WaitResult(verdict, row, is_news=row is not first)

    def close(self) -> None:
        """End the waiting of everybody, as if their time were over."""
        self._is_closed = True
        for post in self._posts.values():
            _tell(post, None)

    @property
    def waiter_count(self) -> int:
        """How many wait now."""
        return sum(post.waiters for post in self._posts.values())

    def _join(self, instance_id: str) -> _Post:
        post = self._posts.get(instance_id)
        if post is None:
            post = self._posts[instance_id] = _Post()
            post.stop_listening = self._database.signals.listen(
                topic_of(instance_id), lambda: self._outdated(instance_id, post)
            )
        post.waiters += 1
        return post

    def _leave(self, instance_id: str, post: _Post) -> None:
        post.waiters -= 1
        if post.waiters == 0:
            post.stop_listening()
            del self._posts[instance_id]

    def _outdated(self, instance_id: str, post: _Post) -> None:
        post.is_outdated = True
        if post.reading is None:
            post.reading = asyncio.create_task(self._read(instance_id, post), name=f"wait {instance_id}")

    async def _read(self, instance_id: str, post: _Post) -> None:
        """Read the row for everybody, once more if a signal came meanwhile."""
        try:
            while post.is_outdated:
                post.is_outdated = False
                row = await self._database.read(lambda connection: find_instance(connection, instance_id))
                post.latest = row or post.latest
                _tell(post, None)
        except StoreUnavailable as error:
            _tell(post, error)
        finally:
            post.reading = None


async def _newer(post: _Post, row: InstanceRow, left_s: float) -> InstanceRow:
    """Return the row as soon as it is newer than the given one; the same one when the time is over."""
    if _is_newer(post.latest, row):
        return post.latest
    if post.news is None:
        post.news = asyncio.get_running_loop().create_future()
    done, _ = await asyncio.wait({post.news}, timeout=left_s)
    for news in done:
        news.result()
    return post.latest if _is_newer(post.latest, row) else row


def _is_newer(latest: InstanceRow | None, row: InstanceRow) -> TypeGuard[InstanceRow]:
    return latest is not None and edition_of(latest) > edition_of(row)


def edition_of(row: InstanceRow) -> tuple[int, float]:
    """Return what only grows, and does when a row was written: a mark of use leaves the version as it is."""
    used_at = row.last_used_at
    return row.instance.version, -math.inf if used_at is None else used_at.timestamp()


def _tell(post: _Post, error: StoreUnavailable | None) -> None:
    news, post.news = post.news, None
    if news is None:
        return
    if error is None:
        news.set_result(None)
    else:
        news.set_exception(error)


def verdict_of(first: InstanceRow, now: InstanceRow, wait_for: WaitFor) -> Waited | None:
    """Say whether waiting is over: it is so, or can no longer become so by itself."""
    instance = now.instance
    match wait_for:
        case WaitFor.READY:
            return _verdict(is_so=instance.is_usable, is_possible=_may_become_usable(instance))
        case WaitFor.RUNNING:
            is_so = instance.state in USABLE_STATES
            return _verdict(is_so=is_so, is_possible=_may_become_usable(instance))
        case WaitFor.EXITED:
            is_possible = instance.state not in _ENDING and instance.upstream_id is not None
            is_possible = is_possible or instance.state is State.CREATING
            return _verdict(is_so=instance.state is State.EXITED, is_possible=is_possible)
        case WaitFor.TERMINATED:
            return _verdict(is_so=instance.state is State.TERMINATED, is_possible=True)
        case WaitFor.CHANGED:
            is_possible = instance.state is not State.TERMINATED  # nothing is done any more to what is gone
            return _verdict(is_so=_shown(now) != _shown(first), is_possible=is_possible)
    assert_never(wait_for)


_ENDING = frozenset({State.TERMINATING, State.TERMINATED})


def _verdict(*, is_so: bool, is_possible: bool) -> Waited | None:
    if is_so:
        return Waited.REACHED
    return None if is_possible else Waited.IMPOSSIBLE


def _may_become_usable(instance: Instance) -> bool:
    """What ends or is not wanted running does not come back by itself; what was reclaimed or failed may."""
    if instance.wanted is not Wanted.RUNNING or instance.state in _ENDING:
        return False
    if instance.state is State.FAILED:
        return _is_still_probed(instance)
    comes_back = instance.is_reclaimed and instance.spec.on_reclaim is not OnReclaim.NONE
    return instance.state is not State.EXITED or comes_back


def _is_still_probed(instance: Instance) -> bool:
    """Tell whether a start whose checks took too long goes on being checked: it may answer after all."""
    is_timeout = instance.error is not None and instance.error.code is FailureCode.HEALTH_CHECK_TIMEOUT
    does_run = instance.upstream_id is not None and instance.upstream_state is UpstreamState.RUNNING
    return is_timeout and does_run and instance.health is not None and bool(instance.health.interval)


def _shown(row: InstanceRow) -> tuple[object, ...]:
    instance = row.instance
    of_cloud = (row.placement, instance.upstream_word, instance.reclaim_at, instance.error)
    of_owner = (instance.name, instance.spec, row.last_used_at)
    return (row.sequence, instance.state, instance.phase, *of_cloud, *of_owner)
