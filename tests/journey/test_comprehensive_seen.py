"""The merged list on the twin: who sees what, what is at odds, what is kept, what is never waited for."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ostler.cloud.caches import NamedCache
from ostler.domain.consistency import Consistency
from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name
from ostler.store.watch_state import read_watch_state
from ostler.usecases.asking import Asker
from ostler.usecases.comprehensive import Comprehensive, Fleet, Member, Survey
from ostler.usecases.picture import Picture
from tests.support.core import INSTALL_ID, SOMEBODY, Ostler, a_wish
from tests.support.watching import Watch, a_watch, an_order

pytestmark = pytest.mark.looptime


class Known:
    """What is known of a watcher whose passes the test makes."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.now = Picture()
        self.asked: list[timedelta] = []
        self.renewals = 0

    def picture(self) -> Picture:
        return self.now

    def is_blind(self) -> bool:
        return self.now.taken_at is None

    async def request_pass(self, wait_at_most: timedelta, /) -> bool:
        self.asked.append(wait_at_most)
        await self.watch.tower.clock.sleep(1)
        await self.look()
        return True

    def renew(self) -> None:
        self.renewals += 1

    async def look(self) -> None:
        """Make a pass, and know of it."""
        await self.watch.look()
        state = await self.watch.process.database.read(read_watch_state)
        missing = () if state.last_pass is None else state.last_pass.missing
        self.now = Picture(state.confirmed_at, frozenset(missing))


class Scene:
    """An installation that is watched by hand, and its merged list."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.process: Ostler = watch.process
        self.known = Known(watch)
        self.cache = NamedCache[Fleet]("mergedInstances", 30, 8, self.process.clock)
        self.merging = Comprehensive(self.process.database, self.known, self.cache, self.process.clock)

    async def survey(self, asker: Asker = SOMEBODY, *, sync: bool = False) -> Survey:
        """Return the merged list."""
        return await self.merging.survey(asker, sync=sync)

    async def member(self, instance_id: str) -> Member:
        """Return one of the merged list."""
        members = (await self.survey()).fleet.members
        return next(each for each in members if each.summary.id == instance_id)

    async def running(self, project: str | None = None) -> str:
        """Have an instance that was seen running."""
        accepted = await self.process.accept(replace(a_wish(), project=project))
        await self.process.until(accepted.instance_id, State.RUNNING)
        await self.process.clock.sleep(60)
        await self.known.look()
        return accepted.instance_id


async def test_strangers_are_shown_to_those_who_see_everything_and_others_see_their_own() -> None:
    async with a_watch() as watch:
        scene = Scene(watch)
        blue, red = await scene.running("blue"), await scene.running("red")
        await scene.process.cloud.create(an_order("somebody-elses"))
        await watch.tower.clock.sleep(60)
        await scene.known.look()
        everything = (await scene.survey()).fleet
        blues = (await scene.survey(Asker("b", "blue"))).fleet
        rows = await scene.watch.state()
    assert [each.summary.id for each in everything.members] == [red, blue]
    assert [each.kinship for each in everything.strangers] == [Kinship.STRANGER]
    assert [each.summary.id for each in blues.members] == [blue]
    assert not blues.strangers
    assert rows.last_pass is not None
    assert rows.last_pass.rows == 2  # a look makes no rows of strangers


async def test_what_a_whole_picture_does_not_show_is_at_odds() -> None:
    async with a_watch() as watch:
        scene = Scene(watch)
        instance_id = await scene.running()
        instance = await scene.process.instance(instance_id)
        watch.hide(instance)
        await watch.tower.clock.sleep(60)
        await scene.known.look()
        member = await scene.member(instance_id)
    assert (member.consistency, member.state) == (Consistency.CONFLICTED, State.RUNNING)


async def test_two_upstreams_of_one_instance_are_at_odds() -> None:
    async with a_watch() as watch:
        scene = Scene(watch)
        instance_id = await scene.running()
        mark = Mark(INSTALL_ID, instance_id, 7)
        await scene.process.cloud.create(an_order(marked_name("demo", mark)))
        await scene.known.look()
        member = await scene.member(instance_id)
    assert member.consistency is Consistency.CONFLICTED


async def test_nothing_is_read_again_until_something_changes_or_is_seen() -> None:
    async with a_watch() as watch:
        scene = Scene(watch)
        instance_id = await scene.running()
        first = await scene.survey()
        second = await scene.survey()
        accepted = await scene.process.accept(a_wish("another"))
        third = await scene.survey()
        await scene.process.until(accepted.instance_id, State.RUNNING)
        fourth = await scene.survey()
        await scene.known.look()
        fifth = await scene.survey()
    assert second.fleet is first.fleet
    assert (second.merging_s, scene.cache.stats().hits) == (0.0, 1)
    assert {each.summary.id for each in third.fleet.members} == {instance_id, accepted.instance_id}
    assert fourth.fleet.revision > third.fleet.revision
    assert fifth.fleet.picture != fourth.fleet.picture


async def test_the_cloud_is_waited_for_when_that_is_wished_or_nothing_was_ever_seen() -> None:
    async with a_watch() as watch:
        scene = Scene(watch)
        blind = await scene.survey()
        after = await scene.survey()
        wished = await scene.survey(sync=True)
    assert scene.known.asked == [timedelta(seconds=2), timedelta(seconds=10)]
    assert (blind.is_synced, after.is_synced, wished.is_synced) == (None, None, True)
    assert scene.known.renewals == 1  # where nobody waits for a look


async def test_what_was_waited_for_is_as_old_as_it_is_in_the_end() -> None:
    async with a_watch() as watch:
        scene = Scene(watch)
        await scene.running()
        began_at = watch.tower.clock.now()
        wished = await scene.survey(sync=True)
    assert wished.fleet.picture.taken_at is not None
    assert began_at + timedelta(seconds=1) <= wished.fleet.picture.taken_at <= wished.at
