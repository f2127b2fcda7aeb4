"""Background work as one list, on each database: what a project's keys see of it, and how its pages join."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from ostler.domain.errors import Missing
from ostler.domain.instance import accepted
from ostler.domain.marks import new_instance_id
from ostler.domain.operations import OperationKind
from ostler.domain.work import Work
from ostler.notify.fanout import fan_out
from ostler.store.database import Database
from ostler.store.jobs import NewJob, Priority, ask
from ostler.store.webhook_endpoints import EndpointRow, Origin, put_endpoint
from ostler.usecases.asking import Asker
from ostler.usecases.background import BackgroundJob, Kin, WorkStatus, merged, position, split
from ostler.usecases.background_lists import WorkFilter, find_work, page_of_work, stats_of_work
from ostler.usecases.progress import Opening
from ostler.usecases.record import Edit, Occasion, Recorder
from tests.support.builders import NOW, a_spec, after

EVERYBODY, OURS, THEIRS = Asker("admin"), Asker("key of ours", "ours"), Asker("key of theirs", "theirs")


def ask_engine(connection: Connection, work: Work) -> None:
    """Take work in as the engine's desk does."""
    ask(connection, NewJob(work.kind.value, work.instance_id))


RECORDER = Recorder(ask_engine, [fan_out])


async def an_instance_of(database: Database, project: str, number: int) -> str:
    """Accept a create in a project, with its job, its operation and a delivery to each endpoint."""
    instance_id = new_instance_id(NOW, number.to_bytes(10))
    change = accepted(instance_id, replace(a_spec(), project=project), None, NOW)
    opening = Opening(new_instance_id(NOW, (100 + number).to_bytes(10)), OperationKind.CREATE)
    edit = Edit(change, opens=opening)
    await database.write(lambda connection: RECORDER.admit(connection, edit, Occasion(NOW)))
    return instance_id


@pytest.fixture
async def two_projects(database: Database) -> tuple[str, str]:
    endpoint = EndpointRow("a", Origin.REGISTERED, "https://a.example/", NOW)
    await database.write(partial(put_endpoint, endpoint=endpoint))
    await database.write(lambda connection: ask(connection, NewJob("engine.clean_up", "")))
    ours = await an_instance_of(database, "ours", 1)
    return ours, await an_instance_of(database, "theirs", 2)


async def work_of(
    database: Database, asker: Asker, instance_id: str | None = None
) -> Sequence[BackgroundJob]:
    wanted = WorkFilter(instance_id=instance_id, project=asker.project)
    return (await database.read(lambda connection: page_of_work(connection, wanted))).jobs


async def test_a_key_of_a_project_sees_the_work_of_its_instances_alone(
    database: Database, two_projects: tuple[str, str]
) -> None:
    everything = await work_of(database, EVERYBODY)
    for asker, own in zip((OURS, THEIRS), two_projects, strict=True):
        seen = await work_of(database, asker)
        assert {each.type for each in seen} == {"create", "monitor_instance", "send_webhook"}
        assert {each.payload["instanceId"] for each in seen} == {own}
        assert seen == [each for each in everything if each.payload.get("instanceId") == own]
        stats = await database.read(partial(stats_of_work, project=asker.project))
        assert sum(each.count for each in stats.counts) == len(seen)
    assert {each.type for each in everything} >= {"engine.clean_up"}


async def test_work_of_another_project_does_not_exist(
    database: Database, two_projects: tuple[str, str]
) -> None:
    ours, theirs = two_projects
    for each in await work_of(database, EVERYBODY, ours):
        assert await database.read(partial(find_work, job_id=each.id, asker=OURS)) == each
        with pytest.raises(Missing):
            await database.read(partial(find_work, job_id=each.id, asker=THEIRS))
    assert await work_of(database, OURS, theirs) == []


async def test_the_work_of_nobodys_project_is_hidden_from_keys_with_one(
    database: Database, two_projects: tuple[str, str]
) -> None:
    del two_projects
    [clean_up] = [each for each in await work_of(database, EVERYBODY) if each.type == "engine.clean_up"]
    with pytest.raises(Missing):
        await database.read(partial(find_work, job_id=clean_up.id, asker=OURS))


@dataclass(frozen=True, slots=True)
class Row:
    """A piece of work in one of three tables: its number there, and when it was asked for."""

    kin: Kin
    number: int
    seconds: int

    def shown(self) -> BackgroundJob:
        beneath = f"{self.number:026d}" if self.kin is Kin.OPERATION else str(self.number)
        return BackgroundJob(
            id=f"{self.kin}{beneath}",
            type="any",
            status=WorkStatus.PENDING,
            priority=Priority.NORMAL,
            payload={},
            attempts=0,
            max_attempts=None,
            created_at=after(self.seconds),
            processed_at=None,
            completed_at=None,
            next_retry_at=None,
            error=None,
        )


@st.composite
def tables(draw: st.DrawFn) -> dict[Kin, list[Row]]:
    """Draw three tables, each newest first as its ids say; several rows may have one instant."""
    drawn = {}
    for kin in Kin:
        seconds = draw(st.lists(st.integers(0, 20), max_size=8))
        drawn[kin] = [Row(kin, number, at) for number, at in enumerate(sorted(seconds), start=1)][::-1]
    return drawn


@given(tables(), st.integers(1, 5), st.sampled_from(["nothing", "more"]))
def test_pages_join_to_the_whole_newest_first_whatever_comes_meanwhile(
    rows: dict[Kin, list[Row]], limit: int, meanwhile: str
) -> None:
    expected = sorted((row for table in rows.values() for row in table), key=lambda row: -row.seconds)
    seen: list[BackgroundJob] = []
    bounds: dict[Kin, str] | None = None
    while True:
        below = {
            kin: [
                shown
                for shown in (row.shown() for row in table)
                if bounds is None or _is_below(shown, bounds[kin])
            ][: limit + 1]
            for kin, table in rows.items()
        }
        page = merged(below, limit)
        seen += page.jobs
        if page.next is None:
            break
        after_page = position(str(page.next))
        assert after_page == page.next
        bounds = dict(
            zip(Kin, (str(after_page.job), after_page.operation, str(after_page.delivery)), strict=True)
        )
        if meanwhile == "more":
            for kin, table in rows.items():
                table.insert(0, Row(kin, len(table) + 1, 21))
    assert [each.created_at for each in seen] == [after(row.seconds) for row in expected]
    assert {each.id for each in seen} == {row.shown().id for row in expected}


def _is_below(shown: BackgroundJob, bound: str) -> bool:
    return shown.beneath < bound if shown.kin is Kin.OPERATION else int(shown.beneath) < int(bound)


@given(st.text(max_size=30))
def test_an_id_names_one_thing_or_nothing(text: str) -> None:
    found = split(text)
    assert found is None or "".join(found) == text
