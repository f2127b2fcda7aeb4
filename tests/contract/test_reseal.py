"""Resealing, on both databases: everything comes under the present key, wherever the work was stopped."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection

from ostler.engine.kind import context_of
from ostler.engine.outcome import Done, GiveUp, Outcome
from ostler.jobs.reseal import RESEAL, Reseal
from ostler.store.catalogue_snapshots import SEALED_KEYS, Snapshot, put_snapshot
from ostler.store.database import Database
from ostler.store.instances import InstanceRow, insert_instance
from ostler.store.jobs import ClaimedJob, ask_and_take
from ostler.store.looks import LookRow, find_look, put_look
from ostler.store.sealed_places import find_keystone
from ostler.store.sealing import FernetSealer
from ostler.store.webhook_endpoints import DEFAULT_ID, EndpointRow, Origin, put_endpoint
from tests.support.builders import NOW, an_instance
from tests.support.engine import ProcessDatabase, StopPoint
from tests.support.sealed import places_under

T = TypeVar("T")
OLD, NEW = SecretStr("the old key"), SecretStr("the new key")
OLD_SEALER = FernetSealer(OLD)
EVERYWHERE = {"instances.envs", "looks.passwords", "catalogue_snapshots.content", "webhook_endpoints.secret"}
MORE_THAN_A_BATCH = 450
MOST_WRITES = 30


def keep_secrets(connection: Connection) -> None:
    """Put secrets into every place, and beside them what is none."""
    for number in range(3):
        instance = replace(an_instance(), id=f"instance-{number}", upstream_id=f"up-{number}")
        row = InstanceRow(instance, changed_at=NOW)
        insert_instance(connection, row, OLD_SEALER.seal(b"envs") if number else None)
        keep_look(connection, f"instance-{number}", OLD_SEALER.seal(b"password"))
        keep_endpoint(connection, f"wh_{number}", Origin.REGISTERED)
    keep_endpoint(connection, DEFAULT_ID, Origin.DEFAULT)
    put_snapshot(connection, Snapshot("regions", "not sealed", NOW))
    for number in range(MORE_THAN_A_BATCH):
        content = OLD_SEALER.seal(b"template").decode("ascii")
        put_snapshot(connection, Snapshot(f"{SEALED_KEYS}{number}", content, NOW))


def keep_look(connection: Connection, instance_id: str, passwords: bytes) -> None:
    put_look(connection, LookRow(instance_id, "up", "{}", passwords, NOW))


def keep_endpoint(connection: Connection, endpoint_id: str, origin: Origin) -> None:
    secret = OLD_SEALER.seal(b"secret")
    put_endpoint(connection, EndpointRow(endpoint_id, origin, None, NOW, secret=secret))


async def taken(database: Database) -> ClaimedJob:
    """Return the job, in our hands."""
    take = partial(ask_and_take, job=RESEAL.of("all"), owner="test", term=timedelta(hours=1))
    job = await database.write(take)
    assert job is not None
    return job


async def run(database: Database, job: ClaimedJob, *former: SecretStr) -> Outcome:
    return await Reseal(FernetSealer(NEW, former))(context_of(job, database))


async def test_stopped_after_any_write_and_begun_again_it_ends_with_one_key(database: Database) -> None:
    await database.write(keep_secrets)
    assert (await database.read(partial(places_under, key="the old key")))[0] == EVERYWHERE
    job = await taken(database)
    stops = 0
    for _ in range(MOST_WRITES):  # each run goes one write further than the one before, then dies
        try:
            outcome = await run(ProcessDatabase(database, StopPoint(1)), job, OLD)
        except asyncio.CancelledError:
            stops += 1
            if (await database.read(partial(places_under, key="the new key")))[1]:
                keystone = await database.read(find_keystone)
                assert keystone is not None
                assert OLD_SEALER.open(keystone), "the keystone is the last to go"
        else:
            break
    else:
        pytest.fail("it never came to an end")
    assert outcome == Done()
    assert stops >= len(EVERYWHERE) + 1
    assert await database.read(partial(places_under, key="the new key")) == (EVERYWHERE, set())
    assert await run(database, job) == Done(), "the old key is not needed any more"


async def test_what_changes_meanwhile_is_not_put_back(database: Database) -> None:
    await database.write(keep_secrets)
    job = await taken(database)
    newer = FernetSealer(NEW).seal(b"newer password")

    class Overtaken(ProcessDatabase):
        """Lets somebody else write before each write."""

        async def write(self, work: Callable[[Connection], T]) -> T:
            await self.inner.write(partial(keep_look, instance_id="instance-1", passwords=newer))
            return await super().write(work)

    assert await run(Overtaken(database), job, OLD) == Done()
    look = await database.read(partial(find_look, instance_id="instance-1"))
    assert look is not None
    assert look.passwords == newer


async def test_what_no_key_opens_is_counted_left_alone_and_told(database: Database) -> None:
    await database.write(keep_secrets)
    stranger = FernetSealer(SecretStr("a lost key")).seal(b"lost")
    await database.write(partial(keep_look, instance_id="instance-0", passwords=stranger))
    outcome = await run(database, await taken(database), OLD)
    assert outcome == GiveUp("1 stored secrets open with none of the keys that were given")
    opened, closed = await database.read(partial(places_under, key="the new key"))
    assert (opened, closed) == (EVERYWHERE, {"looks.passwords"})
