"""Revisions on both databases: every change of what lists show counts, in its own snapshot."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from ostler.domain.kinship import Kinship
from ostler.domain.upstream import UpstreamState
from ostler.store.database import Database
from ostler.store.instances import InstanceRow, find_instance, insert_instance, mark_used, update_instance
from ostler.store.looks import LookRow, put_look
from ostler.store.revisions import Part, note_change, read_revision
from ostler.store.sightings import Sighting, drop_sightings, put_sightings
from tests.support.builders import NOW, a_spec, an_instance

_ID = "i-1"
_SIGHT = Sighting(
    "u-9",
    "other",
    Kinship.STRANGER,
    None,
    UpstreamState.RUNNING,
    "running",
    "R",
    "P",
    1,
    None,
    None,
    NOW,
    NOW,
)


def _update(connection: Connection) -> None:
    row = find_instance(connection, _ID)
    assert row is not None
    update_instance(connection, row, replace(row, changed_at=NOW))


async def _revisions(database: Database) -> dict[Part, int]:
    return await database.read(lambda connection: {part: read_revision(connection, [part]) for part in Part})


@pytest.fixture
async def filled(database: Database) -> Database:
    instance = replace(an_instance(spec=a_spec()), id=_ID)
    await database.write(lambda connection: insert_instance(connection, InstanceRow(instance), None))
    return database


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (_update, Part.INSTANCES),
        (lambda connection: mark_used(connection, _ID, NOW), Part.INSTANCES),
        (lambda connection: put_look(connection, LookRow(_ID, "u", "{}", None, NOW)), Part.LOOKS),
        (lambda connection: put_sightings(connection, [_SIGHT]), Part.SIGHTINGS),
    ],
    ids=["update", "last used", "look", "sighting"],
)
async def test_each_change_counts_in_its_part_alone(
    filled: Database, change: Callable[[Connection], object], part: Part
) -> None:
    before = await _revisions(filled)
    await filled.write(change)
    after = await _revisions(filled)
    assert {each for each in Part if after[each] != before[each]} == {part}


async def test_what_changes_nothing_does_not_count(filled: Database) -> None:
    await filled.write(lambda connection: mark_used(connection, _ID, NOW))
    before = await _revisions(filled)
    await filled.write(lambda connection: mark_used(connection, _ID, NOW))
    await filled.write(lambda connection: drop_sightings(connection, ["u-9"]))
    assert await _revisions(filled) == before


async def test_a_sighting_that_is_dropped_counts(filled: Database) -> None:
    await filled.write(lambda connection: put_sightings(connection, [_SIGHT]))
    before = await _revisions(filled)
    await filled.write(lambda connection: drop_sightings(connection, ["u-9"]))
    assert (await _revisions(filled))[Part.SIGHTINGS] == before[Part.SIGHTINGS] + 1


async def test_changes_at_the_same_time_are_all_counted(database: Database) -> None:
    subjects = [f"i-{number % 7}" for number in range(100)]
    await asyncio.gather(
        *(
            database.write(lambda connection, subject=subject: note_change(connection, Part.LOOKS, subject))  # type: ignore[misc]
            for subject in subjects
        )
    )
    assert await database.read(lambda connection: read_revision(connection, [Part.LOOKS])) == len(subjects)


async def test_what_was_rolled_back_is_not_counted(filled: Database) -> None:
    before = await _revisions(filled)

    def fail(connection: Connection) -> None:
        _update(connection)
        raise LookupError

    with pytest.raises(LookupError):
        await filled.write(fail)
    assert await _revisions(filled) == before
