"""The key that seals stored secrets: changed by a restart, wrong at a start, and what the doctor says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostler.clock import SystemClock
from ostler.store.database import DatabaseConfig
from ostler.store.peeking import peeked
from tests.support.home import Home, at_home, details_in, parts, until
from tests.support.sealed import places_under
from tests.support.server import Ended, ostler

OLD, NEW = "canary-old-key-0123456789", "canary-new-key-0123456789"
PREVIOUS = "OSTLER_SECRET_KEY_PREVIOUS"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one installation lives, whichever keys it is started with."""

    directory: Path
    database_url: str

    @contextmanager
    def home(self, **keys: str) -> Iterator[Home]:
        """Run a server; no key is in its log."""
        with at_home(self.directory, OSTLER_DATABASE_URL=self.database_url, **keys) as home:
            yield home
        assert "canary" not in "".join(home.server.log)

    def run(self, *command: str, **keys: str) -> Ended:
        """Run a command; no key is in what it says."""
        ended = ostler(*command, directory=self.directory, OSTLER_DATABASE_URL=self.database_url, **keys)
        assert "canary" not in ended.stdout + ended.stderr
        return ended

    def finding(self, **keys: str) -> dict[str, str]:
        """Return what the doctor says of the stored secrets."""
        found = json.loads(self.run("doctor", "--json", **keys).stdout)
        return next(each for each in found if each["what"] == "stored secrets")

    def columns_under(self, key: str) -> tuple[set[str], set[str]]:
        """Return the columns with blobs that this key opens, and those with others."""
        with peeked(DatabaseConfig(self.database_url), SystemClock()) as connection:
            assert connection is not None
            return places_under(connection, key)


@pytest.fixture
def place(tmp_path: Path, database_url: str) -> Place:
    return Place(tmp_path, database_url)


def filled(home: Home) -> str:
    """Have a secret in every place; return the instance that has most of them."""
    instance_id = home.running(envs={"TOKEN": "canary-environment"})
    assert home.api.post("/api/webhooks", json={"url": "http://127.0.0.1:9/"}).status_code == 201
    return instance_id


def password(home: Home, instance_id: str) -> object:
    return home.api.get(f"/api/instances/{instance_id}/credentials").raise_for_status().json()


def resealed(home: Home) -> None:
    """Wait until the seals have been renewed."""
    until(
        lambda: details_in(home.api.get("/api/jobs", params={"type": "secrets.reseal"})),
        lambda found: [each["status"] for each in parts(found, "jobs")] == ["completed"],
    )


def test_a_new_key_takes_over_at_a_restart_and_the_old_one_may_go(place: Place) -> None:
    assert place.finding()["verdict"] == "ok"
    with place.home(OSTLER_SECRET_KEY=OLD) as home:
        instance_id = filled(home)
        known = password(home, instance_id)
        assert "all under the present key" in place.finding(OSTLER_SECRET_KEY=OLD)["detail"]
    columns, _ = place.columns_under(OLD)
    assert {"instances.envs", "looks.passwords", "webhook_endpoints.secret"} < columns
    both = {"OSTLER_SECRET_KEY": NEW, PREVIOUS: f"an-older-one,{OLD}"}
    before = place.finding(**both)
    assert (before["verdict"], PREVIOUS in before["hint"]) == ("warning", True)

    with place.home(**both) as home:
        resealed(home)
        assert password(home, instance_id) == known
        after = place.finding(**both)
        assert (after["verdict"], "no longer needed" in after["hint"]) == ("ok", True)

    assert place.columns_under(NEW) == (columns, set())
    with place.home(OSTLER_SECRET_KEY=NEW) as home:
        assert password(home, instance_id) == known
    assert place.finding(OSTLER_SECRET_KEY=OLD)["verdict"] == "failed"


def test_a_wrong_key_is_told_at_the_start_and_changes_nothing(place: Place) -> None:
    with place.home(OSTLER_SECRET_KEY=OLD) as home:
        instance_id = filled(home)
    for keys in ({"OSTLER_SECRET_KEY": NEW}, {"OSTLER_SECRET_KEY": NEW, PREVIOUS: "a-wrong-one"}, {}):
        ended = place.run("up", **keys)
        assert (ended.code, "Traceback" in ended.stderr) == (1, False)
        assert PREVIOUS in ended.stderr
    assert place.columns_under(OLD)[1] == set()
    with place.home(OSTLER_SECRET_KEY=OLD) as home:
        assert password(home, instance_id)


def test_the_key_that_was_made_gives_way_to_one_that_is_given(place: Place) -> None:
    with place.home() as home:
        instance_id = filled(home)
    kept = place.directory / "secret.key"
    assert kept.exists()
    with place.home(OSTLER_SECRET_KEY=NEW) as home:
        resealed(home)
        assert str(kept) in place.finding(OSTLER_SECRET_KEY=NEW)["hint"]
    kept.unlink()
    with place.home(OSTLER_SECRET_KEY=NEW) as home:
        assert password(home, instance_id)
