"""The database in trouble under a real server: what is asked is refused clearly, what was accepted goes on.

Whatever the trouble, the same is expected of it: reads go on, a create is refused with its cause and leaves
nothing, health says so, and when it is over all goes on without a restart.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.support.disks import a_small_disk, filled, no_file_may_grow
from tests.support.home import SETTINGS, Details, Home, at_home, code_of, details_in, part, parts, until
from tests.support.simulator import SpawnedSimulator, spawned_simulator

FILE = "ostler.db"
_OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_CUT = f"SELECT pg_terminate_backend(pid) {_OTHERS}"
_LISTENING = f"SELECT count(*) {_OTHERS} AND query LIKE 'LISTEN%'"


@dataclass(frozen=True)
class Trouble:
    """A way in which a SQLite file cannot be written to."""

    words: str  # how its cause is told
    begin: Callable[[Home, Path], AbstractContextManager[None]]


@contextmanager
def locked(_home: Home, folder: Path) -> Iterator[None]:
    """Let another program hold the lock."""
    with contextlib.closing(sqlite3.connect(folder / FILE, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def moved_away(_home: Home, folder: Path) -> Iterator[None]:
    """Let the file stand elsewhere."""
    file = folder / FILE
    elsewhere = file.rename(folder / "elsewhere.db")
    yield
    assert not file.exists()
    elsewhere.rename(file)


LOCKED = Trouble("another program has locked it", locked)
FAILING = Trouble(
    "its disk cannot be read or written", lambda home, _: no_file_may_grow(home.server.process.pid)
)
MOVED = Trouble("its file was moved or removed: put it back, or restore a backup", moved_away)
FULL = Trouble("its disk is full", lambda _, folder: filled(folder))


@contextmanager
def at(folder: Path, cloud: SpawnedSimulator, **settings: str) -> Iterator[Home]:
    """Run a server whose cloud has nothing to do with its disk."""
    given = SETTINGS | {"NOVITA_API_KEY": "sk_x", "NOVITA_API_BASE_URL": cloud.address} | settings
    with at_home(folder, **given) as home:
        yield home


def refused_create(home: Home, accepted: list[str]) -> Details:
    """Ask until a create is refused, for a full disk may have room for some; return the refusal."""
    while (answer := home.api.post("/api/instances", json=home.body())).status_code == 201:
        accepted.append(str(answer.json()["instanceId"]))
    assert code_of(answer) == (503, "STORE_UNAVAILABLE")
    assert int(answer.headers["Retry-After"]) >= 1
    return details_in(answer)


def refused_passwords(home: Home, instance_id: str) -> httpx2.Response:
    """Ask until passwords are refused, since their reading cannot be put down; here, too, is some room."""
    while (answer := home.api.get(f"/api/instances/{instance_id}/credentials")).is_success:
        pass
    return answer


def health(home: Home) -> Details:
    return details_in(home.api.get("/health"))


def database(found: Details) -> tuple[object, object]:
    return part(found, "dependencies", "database", "status"), part(
        found, "dependencies", "database", "detail"
    )


def living(home: Home) -> set[str]:
    found = parts(home.api.get("/api/instances").json(), "instances")
    return {str(each["novitaInstanceId"]) for each in found if each["status"] != "terminated"}


def billed(home: Home) -> set[str]:
    ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
    return {str(each["id"]) for each in ledger if each["alive"]}


def errors(home: Home) -> list[object]:
    return [entry for entry in home.server.entries() if entry["level"] == "error"]


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(LOCKED, id="locked"),
        pytest.param(FAILING, id="failing"),
        pytest.param(MOVED, id="moved"),
        pytest.param(FULL, id="full", marks=pytest.mark.needs("mount")),
    ],
)
def test_while_the_file_cannot_be_written_creates_are_refused_and_all_else_goes_on(
    tmp_path: Path, trouble: Trouble
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with ExitStack() as stack:
        cloud = stack.enter_context(spawned_simulator(speed=60))
        if trouble is FULL:
            stack.enter_context(a_small_disk(folder))
        home = stack.enter_context(at(folder, cloud))
        kept, accepted = home.running(), [home.created()]
        with trouble.begin(home, folder):
            refusal = refused_create(home, accepted)
            assert trouble.words in str(part(refusal, "error", "message"))
            assert home.looked(kept)["status"] == "running"
            assert code_of(refused_passwords(home, kept)) == (503, "STORE_UNAVAILABLE")
            assert home.api.get("/api/instances").json()["total"] == len({kept, *accepted})
            sick = until(lambda: health(home), lambda found: database(found)[1] == trouble.words)
            assert (sick["status"], database(sick)[0]) == ("unhealthy", "unhealthy")
            assert part(sick, "dependencies", "jobs", "detail") == "work waits for the database"
            assert home.api.get("/health").status_code == 503
        until(lambda: health(home), lambda found: found["status"] == "healthy")
        accepted.append(home.created())
        for each in accepted:
            home.waited(each, "running")
        until(lambda: {"same": living(home) == billed(home)}, lambda found: bool(found["same"]))
        assert len(billed(home)) == len({kept, *accepted})
        assert errors(home) == []


@pytest.mark.needs("postgres")
def test_connections_that_a_server_cuts_again_and_again_cost_nobody_anything(
    tmp_path: Path, postgres_url: str
) -> None:
    with spawned_simulator(speed=60) as cloud, at(tmp_path, cloud, OSTLER_DATABASE_URL=postgres_url) as home:
        accepted: list[str] = []
        for _ in range(5):
            accepted.append(home.created())
            with psycopg.connect(postgres_url, autocommit=True) as server:
                server.execute(_CUT)
        for each in accepted:
            home.waited(each, "running")
        assert living(home) == billed(home)
        until(lambda: health(home), lambda found: found["status"] == "healthy")
        with psycopg.connect(postgres_url, autocommit=True) as server:
            until(
                lambda: {"count": server.execute(_LISTENING).fetchone()},
                lambda found: found["count"] == (1,),
            )
        states = {home.looked(each)["status"] for each in accepted}
        assert "failed" not in states
        assert errors(home) == []
