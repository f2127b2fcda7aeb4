"""Rows come back as they were written, whatever they hold, on both databases."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete
from sqlalchemy.exc import IntegrityError

from ostler.domain.kinship import RowIdentity
from ostler.domain.lifecycle import State
from ostler.domain.operations import Operation
from ostler.store.attempts import AttemptRow, attempts_of, insert_attempt, swap_attempt
from ostler.store.database import Database
from ostler.store.instances import (
    InstanceRow,
    VersionLost,
    find_instance,
    insert_instance,
    living_ids_by_name,
    lock_instance,
    mark_used,
    row_identities,
    sealed_envs,
    update_instance,
)
from ostler.store.operations import (
    OperationRow,
    find_operation,
    insert_operation,
    open_operation,
    update_operation,
)
from ostler.store.tables import TABLES
from tests.support.builders import INSTANCE_ID, NOW, after, an_attempt, an_instance, an_operation
from tests.support.rows import ATTEMPT_ROWS, INSTANCE_ROWS, OPERATIONS

# the database is emptied between examples, for it is the test's own
_FREELY = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _empty(connection: Connection) -> None:
    for table in reversed(TABLES):
        connection.execute(delete(table))


def _with_instance(connection: Connection, instance_id: str) -> None:
    insert_instance(connection, InstanceRow(replace(an_instance(), id=instance_id)), None)


@given(row=INSTANCE_ROWS, other=INSTANCE_ROWS, envs=st.none() | st.binary(max_size=50))
@_FREELY
async def test_an_instance_comes_back_as_it_was_written(
    database: Database, row: InstanceRow, other: InstanceRow, envs: bytes | None
) -> None:
    changed = replace(
        other, instance=replace(other.instance, id=row.instance.id, version=row.instance.version)
    )

    def work(
        connection: Connection,
    ) -> tuple[InstanceRow | None, InstanceRow, InstanceRow | None, bytes | None]:
        _empty(connection)
        insert_instance(connection, row, envs)
        first = find_instance(connection, row.instance.id)
        created = replace(changed, instance=replace(changed.instance, created_at=row.instance.created_at))
        written = update_instance(connection, row, created)
        second = lock_instance(connection, row.instance.id)
        return first, written, second, sealed_envs(connection, row.instance.id)

    first, written, second, kept = await database.write(work)
    assert first == row
    assert second == written
    assert written.instance.version == row.instance.version + 1
    assert kept == envs


@given(operation=OPERATIONS)
@_FREELY
async def test_an_operation_comes_back_as_it_was_written(database: Database, operation: Operation) -> None:
    def work(connection: Connection) -> OperationRow | None:
        _empty(connection)
        _with_instance(connection, operation.instance_id)
        bare = replace(operation, phases=(), outcome=None, ended_at=None, failure=None)
        insert_operation(connection, OperationRow(bare, "somebody"))
        update_operation(connection, operation)
        return find_operation(connection, operation.id)

    assert await database.write(work) == OperationRow(operation, "somebody")


@given(row=ATTEMPT_ROWS, later=ATTEMPT_ROWS)
@_FREELY
async def test_an_attempt_comes_back_as_it_was_written(
    database: Database, row: AttemptRow, later: AttemptRow
) -> None:
    attempt = replace(later.attempt, instance_id=row.attempt.instance_id, number=row.attempt.number)
    moved = replace(later, attempt=attempt)

    def work(connection: Connection) -> tuple[list[AttemptRow], bool, list[AttemptRow]]:
        _empty(connection)
        _with_instance(connection, row.attempt.instance_id)
        insert_attempt(connection, row)
        first = list(attempts_of(connection, row.attempt.instance_id))
        was_moved = swap_attempt(connection, row, moved)
        return first, was_moved, list(attempts_of(connection, row.attempt.instance_id))

    assert await database.write(work) == ([row], True, [moved])


async def test_a_row_that_was_written_meanwhile_is_not_written_over(database: Database) -> None:
    row = InstanceRow(an_instance(), changed_at=NOW)

    def work(connection: Connection) -> None:
        insert_instance(connection, row, None)
        update_instance(connection, row, row)
        with pytest.raises(VersionLost):
            update_instance(connection, row, row)

    await database.write(work)


async def test_of_two_who_would_call_the_same_attempt_one_wins(database: Database) -> None:
    row = AttemptRow(an_attempt(), "US-CA-06", "RTX 4090 24GB", NOW)
    mine = replace(row, attempt=replace(row.attempt, owner="me"))
    yours = replace(row, attempt=replace(row.attempt, owner="you"))

    def work(connection: Connection) -> tuple[bool, bool]:
        _with_instance(connection, row.attempt.instance_id)
        insert_attempt(connection, row)
        return swap_attempt(connection, row, mine), swap_attempt(connection, row, yours)

    assert await database.write(work) == (True, False)


async def test_an_instance_has_at_most_one_open_operation(database: Database) -> None:
    def opened(connection: Connection) -> None:
        _with_instance(connection, INSTANCE_ID)
        insert_operation(connection, OperationRow(an_operation(), "somebody"))

    def second(connection: Connection) -> None:
        insert_operation(connection, OperationRow(replace(an_operation(), id="op-2"), "somebody"))

    await database.write(opened)
    with pytest.raises(IntegrityError):
        await database.write(second)
    found = await database.read(lambda connection: open_operation(connection, INSTANCE_ID))
    assert found is not None
    assert found.operation.id == "op-1"


async def test_names_lead_to_the_living_only(database: Database) -> None:
    def work(connection: Connection) -> list[str]:
        for number, state in enumerate([State.RUNNING, State.TERMINATED, State.EXITED]):
            instance = replace(an_instance(state), id=f"{number}", upstream_id=f"u{number}")
            insert_instance(connection, InstanceRow(instance), None)
        return living_ids_by_name(connection, "demo")

    assert await database.write(work) == ["0", "2"]


async def test_a_use_is_never_noted_earlier_than_it_was(database: Database) -> None:
    def work(connection: Connection) -> InstanceRow | None:
        insert_instance(connection, InstanceRow(an_instance()), None)
        assert mark_used(connection, INSTANCE_ID, after(10))
        assert mark_used(connection, INSTANCE_ID, after(5))
        assert not mark_used(connection, "nobody", after(5))
        return find_instance(connection, INSTANCE_ID)

    row = await database.write(work)
    assert row is not None
    assert row.last_used_at == after(10)


async def test_identities_tell_whose_an_upstream_is(database: Database) -> None:
    instance = replace(an_instance(), predecessor_id="old")

    def work(connection: Connection) -> dict[str, RowIdentity]:
        insert_instance(connection, InstanceRow(instance), None)
        return row_identities(connection)

    expected = RowIdentity(instance.id, State.RUNNING, instance.upstream_id, "old")
    assert await database.write(work) == {instance.id: expected}
