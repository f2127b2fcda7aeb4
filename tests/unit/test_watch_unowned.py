"""What is listed and is no row's own: orphans, late ones, duplicates, strangers; all money is found."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from ostler.domain.attempts import Answer, Attempt, answered, called, settled_absent
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Instance
from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.marks import new_instance_id
from ostler.store.adopted_installs import adopt
from ostler.store.attempts import attempts_of, insert_attempt
from ostler.usecases.asking import ById
from ostler.usecases.costs import Costs
from tests.support.core import SOMEBODY, a_wish
from tests.support.simulator import no_capacity, timeout_after_effect
from tests.support.watching import Watch, a_watch, an_order

pytestmark = pytest.mark.looptime

DELETE = "POST /gpu-instance/openapi/v1/gpu/instance/delete"
CREATE = "POST */gpu/instance/create"


async def kinships(watch: Watch) -> dict[str, Kinship]:
    return {each.upstream_id: each.kinship for each in await watch.sightings()}


async def leave_late_attempt(watch: Watch, instance: Instance, number: int) -> None:
    """Write an attempt down that was sent, lost and settled to be absent."""

    def write(connection: Connection) -> None:
        first = attempts_of(connection, instance.id)[0]
        now = watch.tower.clock.now()
        was = first.attempt
        intended = Attempt(was.instance_id, number, was.upstream_name, was.offer, was.price_per_hour)
        lost = answered(called(intended, "x", now), Answer.LOST, now)
        insert_attempt(connection, replace(first, attempt=settled_absent(lost)))

    await watch.tower.database.write(write)


async def test_an_orphan_gets_a_row_under_the_id_in_its_mark() -> None:
    async with a_watch() as watch:
        orphan_id = new_instance_id(watch.tower.clock.now(), b"0123456789")
        upstream_id = await watch.make_upstream(orphan_id, 1)
        await watch.look()
        row = await watch.process.row(orphan_id)
        assert row.instance.upstream_id == upstream_id
        assert row.instance.name == "demo"
        assert row.placement is not None
        assert row.placement.price_per_hour.units > 0
        assert [event.name for event in await watch.process.events(orphan_id)] == [PublicEvent.ORPHAN_ADOPTED]
        await watch.looks(90, every=10)
        assert (await watch.process.instance(orphan_id)).state is State.RUNNING
        assert await kinships(watch) == {}


async def test_a_stranger_is_only_put_down_once_and_forgotten_when_it_goes() -> None:
    async with a_watch() as watch:
        stranger = await watch.tower.cloud.create(an_order("somebodys"))
        await watch.looks(120, every=30)
        (seen,) = await watch.sightings()
        assert seen.upstream_id == stranger
        assert seen.kinship is Kinship.STRANGER
        writes = watch.count_writes()
        await watch.looks(60, every=30)
        assert set(writes.stop()) == {"watch_state"}
        await watch.tower.cloud.delete(stranger)
        await watch.looks(60, every=30)
        assert await watch.sightings() == []
        assert await watch.told(PublicEvent.ORPHAN_FOUND) == []


async def test_what_another_installation_made_is_left_alone_until_it_is_taken_over() -> None:
    async with a_watch() as watch:
        theirs = new_instance_id(watch.tower.clock.now(), b"9876543210")
        upstream_id = await watch.make_upstream(theirs, 1, install_id="elsewhere")
        await watch.look()
        assert await kinships(watch) == {upstream_id: Kinship.OTHER_INSTALLATION}
        now = watch.tower.clock.now()
        await watch.tower.database.write(lambda connection: adopt(connection, "elsewhere", "me", now))
        await watch.look()
        assert (await watch.process.instance(theirs)).upstream_id == upstream_id


async def test_a_duplicate_is_removed_once_its_rows_own_is_proven_alive() -> None:
    async with a_watch() as watch:
        (kept,) = await watch.running()
        duplicate = await watch.make_upstream(kept.id, 2)
        await watch.looks(60, every=15)
        assert (await watch.process.instance(kept.id)).upstream_id == kept.upstream_id
        ledger = watch.home.simulated.world.ledger
        assert ledger[duplicate].removed_at
        assert not ledger[kept.upstream_id or ""].removed_at
        assert await kinships(watch) == {}
        (told,) = await watch.told(PublicEvent.DUPLICATE_REMOVED)
        assert told.details["novitaInstanceId"] == duplicate
        (found,) = await watch.told(PublicEvent.ORPHAN_FOUND)
        assert {told.instance_id, found.instance_id} == {kept.id}
        costs = Costs(watch.tower.database, watch.tower.clock)
        cost = await costs.of_instance(kept.id, SOMEBODY)
        [(row, charged)] = [each for each in cost.intervals if each[0].upstream_id == duplicate]
        assert told.details["estimatedCost"] == float(charged.amount) > 0
        assert row.interval.to_at is not None
        assert row.interval.uncertainty < timedelta(minutes=1)


async def test_a_duplicate_stays_while_nothing_proves_that_the_rows_own_is_alive() -> None:
    async with a_watch() as watch:
        (kept,) = await watch.running()
        duplicate = await watch.make_upstream(kept.id, 2)
        watch.lose(kept)
        await watch.look()
        await watch.process.clock.sleep(8)
        assert not watch.home.simulated.world.ledger[duplicate].removed_at
        assert watch.home.simulated.calls_of(DELETE) == 0


async def test_a_duplicate_that_matches_an_attempt_takes_the_place_of_one_that_is_gone() -> None:
    async with a_watch() as watch:
        (kept,) = await watch.running()
        await leave_late_attempt(watch, kept, 2)
        await watch.tower.clock.sleep(60)
        duplicate = await watch.make_upstream(kept.id, 2)
        watch.lose(kept)
        await watch.looks(90, every=12)
        now = await watch.process.instance(kept.id)
        assert now.upstream_id == duplicate
        assert now.state is State.RUNNING
        assert not watch.home.simulated.world.ledger[duplicate].removed_at
        assert await kinships(watch) == {}


async def test_a_late_one_of_a_terminated_row_is_removed() -> None:
    async with a_watch() as watch:
        (dead,) = await watch.running()
        await watch.process.verbs.delete(ById(dead.id), SOMEBODY)
        await watch.looks(60, every=10)
        late = await watch.make_upstream(dead.id, 2)
        await watch.looks(60, every=10)
        assert (await watch.process.instance(dead.id)).state is State.TERMINATED
        assert watch.home.simulated.world.ledger[late].removed_at
        assert watch.home.alive() == []


async def test_a_tombstones_own_that_is_seen_again_is_an_alarm_and_is_deleted() -> None:
    async with a_watch() as watch:
        (lost,) = await watch.running()
        await watch.tower.clock.sleep(60)
        watch.lose(lost)
        await watch.looks(36, every=12)
        assert (await watch.process.instance(lost.id)).state is State.TERMINATED
        watch.find(lost)
        await watch.look()
        assert (await watch.process.instance(lost.id)).state is State.TERMINATING
        (alarm,) = await watch.told(PublicEvent.DELETE_STUCK)
        assert alarm.is_alarm
        await watch.looks(60, every=10)
        assert (await watch.process.instance(lost.id)).state is State.TERMINATED
        assert watch.home.alive() == []


async def test_one_that_is_awaited_wakes_the_create_that_looks_for_it() -> None:
    async with a_watch() as watch:
        watch.home.simulated.next_create(timeout_after_effect())
        accepted = await watch.process.accept(a_wish())
        await watch.looks(90, every=10)
        assert (await watch.process.instance(accepted.instance_id)).state is State.RUNNING
        assert len(watch.home.ever_billed()) == 1


async def test_one_that_surfaces_after_its_create_had_failed_is_found_and_removed() -> None:
    async with a_watch() as watch:
        watch.home.simulated.next_call(CREATE, no_capacity(), times=50)
        accepted = await watch.process.accept(a_wish())
        await watch.tower.clock.sleep(30)
        failed = await watch.process.instance(accepted.instance_id)
        assert failed.state is State.FAILED
        watch.home.simulated.all_is_well()
        late = await watch.make_upstream(failed.id, 1)
        await watch.looks(90, every=10)
        assert watch.home.simulated.world.ledger[late].removed_at
        assert (await watch.process.instance(failed.id)).state is State.TERMINATED


async def test_one_that_no_attempt_is_known_of_is_given_to_the_row_that_has_none() -> None:
    async with a_watch() as watch:
        watch.home.simulated.next_call(CREATE, no_capacity(), times=50)
        waiting = replace(a_wish(), retry_until_available=True)
        accepted = await watch.process.accept(waiting)
        await watch.tower.clock.sleep(20)
        upstream_id = await late_create(watch, accepted.instance_id, 99)
        await watch.looks(90, every=10)
        now = await watch.process.instance(accepted.instance_id)
        assert now.upstream_id == upstream_id
        assert now.state is State.RUNNING
        row = await watch.process.row(accepted.instance_id)
        assert row.placement is not None
        assert row.placement.attempt == 99


async def late_create(watch: Watch, instance_id: str, attempt: int) -> str:
    watch.home.simulated.all_is_well()
    upstream_id = await watch.make_upstream(instance_id, attempt)
    watch.home.simulated.next_call(CREATE, no_capacity(), times=50)
    return upstream_id
