"""Looking at instances: details, lists, waiting, orphans, and changes that touch nothing at the cloud."""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from ostler.cloud.upstream import Upstream
from ostler.domain.errors import Missing, NotOurs, RequestInvalid
from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name, parse_mark
from ostler.domain.patch_requests import parse_patch
from ostler.simulator.creation import create as create_upstream
from ostler.store.instance_lists import InstanceFilter, PageWish
from ostler.store.sealing import FernetSealer
from ostler.store.sightings import Sighting, put_sightings
from ostler.usecases.asking import Asker, ById, ByName
from ostler.usecases.change import ChangeInstance
from ostler.usecases.ids import Ids
from ostler.usecases.listing import Listed, ListWish
from ostler.usecases.orphans import Adoption, Orphans
from ostler.usecases.reading import Reading
from ostler.usecases.record import Occasion
from ostler.usecases.removal import Removal
from ostler.usecases.stop_all import StopAll
from ostler.usecases.waiting import Waited, WaitFor, Waiting
from tests.support.core import INSTALL_ID, SOMEBODY, Installation, Ostler, a_wish, an_installation
from tests.support.simulator import an_order

pytestmark = pytest.mark.looptime

_LOST = "aaaaaaaaaabbbbbbbbbbcccccc"
_SEALER = FernetSealer(SecretStr("a key of the tests"))


async def _running(ostler: Ostler, name: str = "demo", project: str | None = None) -> str:
    accepted = await ostler.accept(replace(a_wish(name), project=project))
    await ostler.until(accepted.instance_id, State.RUNNING)
    return accepted.instance_id


def _reading(ostler: Ostler) -> Reading:
    return Reading(ostler.database, ostler.recorder, ostler.clock)


async def _page(
    reading: Reading, wanted: InstanceFilter | None = None, page: PageWish | None = None
) -> Listed:
    found = await reading.page(ListWish(wanted or InstanceFilter(), page or PageWish()))
    assert found.page is not None
    return found.page


async def test_details_show_the_ways_in_and_the_cost_and_no_password() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        await ostler.clock.sleep(3600)
        details = await _reading(ostler).details(ById(instance_id), SOMEBODY)
        passwords = await _reading(ostler).passwords(instance_id, SOMEBODY, _SEALER)
    assert details.look is not None
    assert details.look.connection is not None
    assert details.look.connection.ssh_command
    assert details.look.connection.ssh_password.get_secret_value() == ""
    assert passwords.ssh.get_secret_value() != ""
    assert 0.34 < float(details.cost_so_far.amount) < 0.37


async def test_a_read_of_an_old_row_answers_at_once_and_has_it_looked_at() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        await ostler.clock.sleep(600)
        reading = _reading(ostler)
        old = await reading.details(ById(instance_id), SOMEBODY)
        await ostler.clock.sleep(1)
        new = await reading.details(ById(instance_id), SOMEBODY)
    assert old.observed_at is not None
    assert new.observed_at is not None
    assert new.observed_at - old.observed_at > timedelta(minutes=9)


async def test_lists_are_filtered_and_paged_newest_first() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        made = []
        for number in range(5):
            spec = replace(
                a_wish(f"n{number}"), project="odd" if number % 2 else "even", labels={"n": str(number)}
            )
            made.append((await ostler.accept(spec)).instance_id)
            await ostler.clock.sleep(1)
        reading = _reading(ostler)
        first = await _page(reading, page=PageWish(limit=2))
        second = await _page(reading, page=PageWish(limit=2, after_id=first.next_cursor))
        even = await _page(reading, InstanceFilter(project="even"))
        labelled = await _page(reading, InstanceFilter(labels={"n": "3"}))
        none = await _page(reading, InstanceFilter(states=[State.EXITED]))
    shown = [each.id for each in (*first.instances, *second.instances)]
    assert shown == made[:0:-1]
    assert first.total == 5
    assert [each.name for each in even.instances] == ["n4", "n2", "n0"]
    assert [each.name for each in labelled.instances] == ["n3"]
    assert (none.total, none.next_cursor) == (0, None)


async def test_waiting_ends_when_it_is_so_and_many_wait_on_few_reads() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        waiting = Waiting(ostler.database, ostler.clock)
        accepted = await ostler.accept(a_wish())
        waiters = [
            asyncio.create_task(waiting.wait(accepted.instance_id, SOMEBODY, WaitFor.READY, 120))
            for _ in range(50)
        ]
        await ostler.clock.sleep(0.5)
        before = ostler.database.reads
        await ostler.until(accepted.instance_id, State.RUNNING)
        results = await asyncio.gather(*waiters)
        assert {each.waited for each in results} == {Waited.REACHED}
        assert all(each.row.instance.is_usable for each in results)
        assert ostler.database.reads - before < 50


@pytest.mark.parametrize(
    ("wait_for", "expected"),
    [
        (WaitFor.EXITED, Waited.TIMEOUT),
        (WaitFor.CHANGED, Waited.TIMEOUT),
        (WaitFor.RUNNING, Waited.REACHED),
    ],
)
async def test_waiting_in_vain_ends_with_the_time(wait_for: WaitFor, expected: Waited) -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        result = await Waiting(ostler.database, ostler.clock).wait(instance_id, SOMEBODY, wait_for, 5)
        assert result.waited is expected


async def test_waiting_for_what_can_no_longer_be_ends_at_once() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        waiting = Waiting(ostler.database, ostler.clock)
        waiter = asyncio.create_task(waiting.wait(instance_id, SOMEBODY, WaitFor.EXITED, 120))
        await ostler.clock.sleep(1)
        began = ostler.clock.monotonic()
        await ostler.verbs.delete(ById(instance_id), SOMEBODY)
        assert (await waiter).waited is Waited.IMPOSSIBLE
        assert ostler.clock.monotonic() - began < 1
        with pytest.raises(Missing):
            await waiting.wait("nobody", SOMEBODY, WaitFor.READY, 1)


async def test_a_patch_changes_what_is_wanted_and_nothing_at_the_cloud() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        change = ChangeInstance(ostler.database, ostler.recorder, ostler.clock)
        patch = parse_patch({"name": "renamed", "labels": {"a": "b"}, "ttlSeconds": 600})
        row = await change.patch(ById(instance_id), SOMEBODY, patch)
        found = await _reading(ostler).details(ByName("renamed"), SOMEBODY)
        again = await change.patch(ById(instance_id), SOMEBODY, parse_patch({"ttlSeconds": None}))
    assert row.instance.spec.limits.ttl == timedelta(minutes=10)
    assert found.row.instance.spec.labels == {"a": "b"}
    assert again.instance.spec.limits.ttl is None
    assert again.instance.name == "renamed"


@pytest.mark.parametrize(
    "body", [{}, {"name": "no spaces"}, {"ttlSeconds": 1}, {"colour": "red"}, {"onLimit": 3}]
)
def test_a_patch_that_cannot_be_is_refused_by_field(body: dict[str, object]) -> None:
    with pytest.raises(RequestInvalid):
        parse_patch(body)


async def test_a_use_in_the_future_counts_as_now() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        change = ChangeInstance(ostler.database, ostler.recorder, ostler.clock)
        now = ostler.clock.now()
        assert await change.mark_used(instance_id, SOMEBODY, now + timedelta(days=9)) == now
        assert await change.mark_used(instance_id, SOMEBODY, now - timedelta(days=9)) == now


async def test_stopping_everything_stops_what_the_asker_may_see() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        mine = await _running(ostler, "mine", "ours")
        theirs = await _running(ostler, "theirs", "others")
        stopped = await StopAll(ostler.database, ostler.verbs, ostler.clock).run(Asker("me", project="ours"))
        assert list(stopped.operations) == [mine]
        await ostler.until(mine, State.EXITED)
        assert (await ostler.instance(theirs)).state is State.RUNNING


async def test_an_orphan_becomes_a_row_under_the_id_in_its_mark() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        upstream = await _seen(home, ostler, marked_name("lost", Mark(INSTALL_ID, _LOST, 4)), Kinship.ORPHAN)
        taken = await _orphans(ostler).adopt(upstream.id, Occasion(ostler.clock.now(), "somebody"))
        row = await ostler.row(_LOST)
        assert taken.instance.id == row.instance.id
        assert row.instance.name == "lost"
        assert row.placement is not None
        assert (row.placement.attempt, row.placement.price_per_hour.units) == (4, 35_000)
        await ostler.verbs.delete(ById(row.instance.id), SOMEBODY)
        await ostler.until(row.instance.id, State.TERMINATED)


async def test_a_stranger_is_not_deleted_but_may_be_adopted_by_hand() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        upstream = await _seen(home, ostler, "somebodys", Kinship.STRANGER)
        orphans, occasion = _orphans(ostler), Occasion(ostler.clock.now(), "somebody")
        with pytest.raises(NotOurs):
            await orphans.delete(upstream.id, occasion)
        taken = await orphans.adopt(upstream.id, occasion)
        assert taken.instance.name == "somebodys"
        with pytest.raises(Missing):
            await orphans.adopt(upstream.id, occasion)


async def test_an_orphan_is_deleted_as_an_operation_and_a_duplicate_without_one() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        instance_id = await _running(ostler)
        orphans, occasion = _orphans(ostler), Occasion(ostler.clock.now(), "somebody")
        orphan = await _seen(home, ostler, marked_name("lost", Mark(INSTALL_ID, _LOST, 2)), Kinship.ORPHAN)
        answer = await orphans.delete(orphan.id, occasion)
        assert answer is not None
        assert answer.operation is not None
        await ostler.until(answer.instance.id, State.TERMINATED)
        twin = await _seen(
            home, ostler, marked_name("demo", Mark(INSTALL_ID, instance_id, 9)), Kinship.DUPLICATE
        )
        assert await orphans.delete(twin.id, occasion) is None
        await ostler.clock.sleep(30)
        assert len(home.alive()) == 1
        assert await orphans.list() == []


async def _seen(home: Installation, ostler: Ostler, name: str, kinship: Kinship) -> Upstream:
    """Let the cloud have an upstream that no row has, and the watcher have seen it."""
    made = create_upstream(home.simulated.world, replace(an_order(), name=name))
    await ostler.clock.sleep(60)
    home.simulated.cloud.catch_up()
    listing = await ostler.cloud.list_all()
    [upstream] = [each for each in listing.upstreams if each.id == made.id]
    now = ostler.clock.now()
    sighting = Sighting(
        upstream_id=upstream.id,
        name=name,
        kinship=kinship,
        mark=parse_mark(name),
        state=upstream.state,
        word=upstream.status,
        region=upstream.region_name,
        product_name=upstream.product_name,
        gpus=1,
        price_per_hour=upstream.price_per_gpu_hour,
        created_at=upstream.created_at,
        first_seen_at=now,
        last_seen_at=now,
    )
    await ostler.database.write(lambda connection: put_sightings(connection, [sighting]))
    return upstream


def _orphans(ostler: Ostler) -> Orphans:
    adoption = Adoption(ostler.recorder, _SEALER, Ids(random.Random(7).randbytes))  # noqa: S311 -- to be repeated
    return Orphans(ostler.database, ostler.cloud, adoption, ostler.verbs, Removal(ostler.engine))
