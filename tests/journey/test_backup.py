"""Backup and restore: taken from a running installation, put back after everything of ours was destroyed."""

import re
import shutil
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.databases import KINDS, address
from tests.support.home import SETTINGS, Home, at_home, details_in, part, parts, until
from tests.support.server import Ended, ostler
from tests.support.simulator import spawned_simulator


@dataclass
class Site:
    """Where an installation lives: what can be destroyed, and the cloud, which cannot."""

    folder: Path
    settings: dict[str, str]
    postgres: str | None

    def run(self, *command: str) -> Ended:
        return ostler(*command, directory=self.folder, **self.settings)

    def destroy(self) -> None:
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        if self.postgres is not None:
            url = make_url(self.postgres)
            with psycopg.connect(address(url.set(database="postgres")), autocommit=True) as server:
                server.execute(f'DROP DATABASE "{url.database}" WITH (FORCE)')
                server.execute(f'CREATE DATABASE "{url.database}"')

    @contextmanager
    def home(self) -> Iterator[Home]:
        with at_home(self.folder, **self.settings) as home:
            yield home


def a_site(folder: Path, cloud: str, postgres: str | None) -> Site:
    folder.mkdir()
    settings = {**SETTINGS, "NOVITA_API_KEY": "sk_x", "NOVITA_API_BASE_URL": cloud, "OSTLER_ADMIN_KEY": ""}
    if postgres is not None:
        settings["OSTLER_DATABASE_URL"] = postgres
    return Site(folder, settings, postgres)


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    postgres = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    with spawned_simulator(speed=60) as cloud:
        yield a_site(tmp_path / "ostler", cloud.address, postgres)


def admin(site: Site, home: Home) -> httpx2.Client:
    """Show the key that Ostler made, and keeps in its directory."""
    home.api.headers["Authorization"] = f"Bearer {(site.folder / 'admin.key').read_text().strip()}"
    return home.api


def alive_at_the_cloud(site: Site) -> set[str]:
    url = site.settings["NOVITA_API_BASE_URL"]
    found = parts(httpx2.get(f"{url}/_sim/ledger", trust_env=False).json(), "instances")
    return {str(each["id"]) for each in found if each["alive"]}


def upstreams(home: Home) -> set[str]:
    found = parts(home.api.get("/api/instances").json(), "instances")
    return {str(each["novitaInstanceId"]) for each in found if each["status"] != "terminated"}


def test_what_was_backed_up_while_it_ran_goes_on_after_everything_was_destroyed(
    site: Site, tmp_path: Path
) -> None:
    archive = tmp_path / "backup.tar.gz"
    with site.home() as home:
        key = admin(site, home).headers["Authorization"]
        kept = home.running(envs={"TOKEN": "canary-in-a-row"}, labels={"team": "blue"})
        stopped = home.exited()
        on_its_way = home.created()
        ended = site.run("backup", str(archive))
        assert ended.code == 0, ended.stderr
        told = home.listed(kept, "events")
        home.waited(on_its_way, "running")
        home.running()  # the backup knows nothing of it
        home.asked(stopped, "start")
        home.waited(stopped, "running")
        home.server.process.kill()
        home.server.process.wait(20)
    site.destroy()
    ended = site.run("restore", str(archive))
    assert ended.code == 0, ended.stderr
    with site.home() as home:
        assert admin(site, home).headers["Authorization"] == key
        assert home.looked(kept)["status"] == "running"
        assert home.listed(kept, "events")[: len(told)] == told
        until(lambda: home.looked(stopped), lambda found: found["status"] == "running")
        home.waited(on_its_way, "running")
        # what came since is found by its mark, what was begun twice is ended: a row for each that is billed
        until(
            lambda: {"missing": sorted(alive_at_the_cloud(site) ^ upstreams(home))},
            lambda found: not found["missing"],
        )
        assert len(alive_at_the_cloud(site)) == 4
        home.waited(home.created(), "running")
        home.asked(kept, "delete")
        home.waited(kept, "terminated")
        assert part(details_in(home.api.get("/health")), "dependencies", "database", "status") == "healthy"


@pytest.mark.needs("postgres")
def test_a_backup_moves_an_installation_to_postgresql_and_back(tmp_path: Path, postgres_url: str) -> None:
    with spawned_simulator(speed=60) as cloud:
        first = a_site(tmp_path / "first", cloud.address, None)
        with first.home() as home:
            admin(first, home)
            instance_id = home.exited(envs={"TOKEN": "sealed"})
            told = home.listed(instance_id, "events")
        assert first.run("backup", str(tmp_path / "one.tar.gz")).code == 0
        second = a_site(tmp_path / "second", cloud.address, postgres_url)
        assert second.run("restore", str(tmp_path / "one.tar.gz")).code == 0
        with second.home() as home:
            admin(second, home)
            assert home.listed(instance_id, "events") == told
            home.asked(instance_id, "start")  # new rows get ids that were never given
            home.waited(instance_id, "running")
            told = home.listed(instance_id, "events")
        assert second.run("backup", str(tmp_path / "two.tar.gz")).code == 0
        third = a_site(tmp_path / "third", cloud.address, None)
        assert third.run("restore", str(tmp_path / "two.tar.gz")).code == 0
        with third.home() as home:
            admin(third, home)
            assert home.listed(instance_id, "events")[: len(told)] == told
            home.asked(instance_id, "stop")
            home.waited(instance_id, "exited")


def test_an_archive_is_for_its_owner_alone_and_never_overwrites_anything(tmp_path: Path) -> None:
    site = Site(tmp_path, {"OSTLER_ADMIN_KEY": "", "OSTLER_SIMULATOR_SPEED": "60"}, None)
    archive = tmp_path / "backup.tar.gz"
    ended = site.run("backup", str(archive))
    assert (ended.code, archive.exists()) == (1, False)
    assert "no database" in ended.stderr
    ended = site.run("backup", str(tmp_path / "nowhere" / "backup.tar.gz"))
    assert f"{tmp_path}/nowhere cannot be written to: No such file or directory\n" in ended.stderr
    with site.home() as home:
        admin(site, home)
    assert site.run("backup", str(archive)).code == 0
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    with tarfile.open(archive) as tar:
        assert set(tar.getnames()) == {"manifest.json", "rows.db", "secret.key", "admin.key"}
    for command in ("backup", "restore"):
        ended = site.run(command, str(archive))
        assert ended.code == 1
        assert "never overwrites" in ended.stderr
        assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob(".ostler-*"))


def test_what_is_no_backup_or_has_another_key_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    for folder in (home, away):
        folder.mkdir()
    site = Site(home, {}, None)
    with site.home():
        pass
    archive = tmp_path / "backup.tar.gz"
    assert site.run("backup", str(archive)).code == 0
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(archive.read_bytes()[:-200])
    (tmp_path / "text.tar.gz").write_text("no archive")
    other = Site(away, {}, None)
    for name in ("damaged.tar.gz", "text.tar.gz", "nothing.tar.gz"):
        ended = other.run("restore", str(tmp_path / name))
        assert ended.code == 1, name
        assert re.search(r"is no backup|cannot be read", ended.stderr), ended.stderr
    ended = Site(away, {"OSTLER_SECRET_KEY": "quite-another-key-0123456789abcdef"}, None).run(
        "restore", str(archive)
    )
    assert ended.code == 1
    assert "is not the key of this backup" in ended.stderr
    assert "quite-another-key" not in ended.stderr
    assert not list(away.iterdir())
