"""The book of keys: what it holds is good now, it asks little of the database, and nobody is fooled by it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import Connection, select

from ostler.domain.errors import NotAllowed, OutsideProject, RequestInvalid
from ostler.domain.keys import KEY_BYTES, Grant, digest_of, granted, new_key
from ostler.domain.roles import Role
from ostler.store.api_keys import api_keys
from ostler.store.database import StoreUnavailable
from ostler.telemetry.redaction import Redactor
from ostler.usecases.key_book import ADMINISTRATOR
from ostler.usecases.keys import Made
from tests.support.cloud import EPOCH, LoopClock
from tests.support.gates import Porch, a_porch

VIEWER = Grant(Role.VIEWER)
LATER, SOON = EPOCH + timedelta(hours=2), EPOCH + timedelta(hours=1)
pytestmark = pytest.mark.looptime


@pytest.fixture
def porch() -> Iterator[Porch]:
    opened = a_porch(LoopClock())
    yield opened
    opened.storage.close()


@asynccontextmanager
async def kept_fresh(porch: Porch) -> AsyncIterator[None]:
    keeping = asyncio.create_task(porch.book.run())
    yield
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def made(porch: Porch, grant: Grant = VIEWER) -> Made:
    return await porch.keys.make("ci", grant, ADMINISTRATOR)


async def used_at(porch: Porch) -> object:
    def work(connection: Connection) -> object:
        return connection.execute(select(api_keys.c.last_used_at)).scalar()

    return await porch.storage.databases[0].read(work)


async def test_a_revoked_key_opens_nothing_and_neither_do_its_sessions(porch: Porch) -> None:
    key = await made(porch)
    token = await porch.sessions.open(key.row.holder, "")
    assert await porch.sessions.behind(token)
    await porch.keys.revoke(key.row.holder.key_id, ADMINISTRATOR)
    assert await porch.book.by_key(key.row.digest) is None
    assert await porch.sessions.behind(token) is None


async def test_signing_in_again_ends_the_session_before(porch: Porch) -> None:
    first = await porch.sessions.open(ADMINISTRATOR, "")
    second = await porch.sessions.open(ADMINISTRATOR, first)
    assert second != first
    assert await porch.sessions.behind(first) is None
    assert await porch.sessions.behind(second)


async def test_a_session_ends_with_the_key_that_opened_it(porch: Porch) -> None:
    key = await made(porch, Grant(Role.VIEWER, None, SOON))
    token = await porch.sessions.open(key.row.holder, "")
    shown = await porch.sessions.behind(token)
    assert shown is not None
    assert shown.ends_at == SOON
    with porch.book.holding(shown) as fence, pytest.raises(TimeoutError):
        async with fence:
            await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() == pytest.approx(3600)
    assert await porch.sessions.behind(token) is None


async def test_the_administrators_holds_are_let_go_by_no_change_of_keys(porch: Porch) -> None:
    shown = await porch.book.by_key(digest_of("the-administrators-key"))
    assert shown is not None
    with porch.book.holding(shown) as fence:
        async with fence:
            await made(porch)
    assert not fence.expired()


async def test_a_book_that_could_not_be_checked_is_not_believed_but_the_administrator_is(
    porch: Porch,
) -> None:
    key = await made(porch)
    porch.storage.is_away = True
    await LoopClock().sleep(4)
    assert await porch.book.by_key(key.row.digest)
    await LoopClock().sleep(2)
    with pytest.raises(StoreUnavailable):
        await porch.book.by_key(key.row.digest)
    assert await porch.book.by_key(digest_of("the-administrators-key"))
    porch.storage.is_away = False
    assert await porch.book.by_key(key.row.digest)


async def test_many_guesses_at_once_cost_few_looks_into_the_database(porch: Porch) -> None:
    began = asyncio.get_running_loop().time()
    guesses = [porch.book.by_key(digest_of(str(number))) for number in range(1000)]
    assert set(await asyncio.gather(*guesses)) == {None}
    assert asyncio.get_running_loop().time() - began < 1


async def test_a_use_is_shown_at_once_and_written_about_once_a_minute(porch: Porch) -> None:
    key = await made(porch)
    await LoopClock().sleep(5)
    await porch.book.by_key(key.row.digest)
    now = EPOCH + timedelta(seconds=asyncio.get_running_loop().time())
    assert (await porch.keys.one(key.row.holder.key_id, ADMINISTRATOR)).last_used_at == now
    assert await used_at(porch) is None
    async with kept_fresh(porch):
        await LoopClock().sleep(62)
    assert await used_at(porch) == now


@pytest.mark.parametrize("own", Role)
@pytest.mark.parametrize("asked", Role)
def test_nobody_makes_a_key_that_may_more(own: Role, asked: Role) -> None:
    if own.covers(asked):
        assert granted("ci", Grant(asked), Grant(own), EPOCH).role is asked
    else:
        with pytest.raises(NotAllowed):
            granted("ci", Grant(asked), Grant(own), EPOCH)


def test_a_key_of_a_project_makes_keys_of_it_alone() -> None:
    own = Grant(Role.ADMIN, "blue")
    assert granted("ci", VIEWER, own, EPOCH).project == "blue"
    assert granted("ci", Grant(Role.VIEWER, "blue"), own, EPOCH).project == "blue"
    with pytest.raises(OutsideProject):
        granted("ci", Grant(Role.VIEWER, "red"), own, EPOCH)


@pytest.mark.parametrize(
    ("asked", "own", "expected"),
    [(None, None, None), (SOON, None, SOON), (None, SOON, SOON), (LATER, SOON, SOON), (SOON, LATER, SOON)],
)
def test_a_key_ends_no_later_than_the_one_that_made_it(asked: object, own: object, expected: object) -> None:
    grant = granted("ci", Grant(Role.VIEWER, None, asked), Grant(Role.ADMIN, None, own), EPOCH)  # type: ignore[arg-type]  # instants or none
    assert grant.expires_at == expected


@pytest.mark.parametrize("name", ["admin", "Admin ", "OSTLER", "watcher"])
def test_nobody_takes_a_name_that_acts_without_a_key(name: str) -> None:
    with pytest.raises(RequestInvalid):
        granted(name, VIEWER, Grant(Role.ADMIN), EPOCH)


def test_a_key_is_known_by_its_shape_to_whatever_redacts() -> None:
    key = new_key(bytes(range(KEY_BYTES)))
    assert key not in Redactor().text(f"somebody wrote {key} here")
