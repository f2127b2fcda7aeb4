"""Two replicas on one PostgreSQL: what the one changes the other sends anew, and never serves as it was."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest
from sqlalchemy import URL

from ostler.clock import SystemClock
from tests.support.databases import an_empty_database
from tests.support.home import Home, a_name, at_home, parts, until
from tests.support.server import running_ostler

pytestmark = pytest.mark.needs("postgres")
_ROUNDS = 20
_AT_MOST_S = 10  # a second or so, on a machine that is busy with other tests
_SHARED = {
    "INSTANCE_POLL_INTERVAL": "300",
    "COMPREHENSIVE_CACHE_TTL": "600",
    "OSTLER_SECRET_KEY": "a-secret-key-that-both-replicas-share-0123456789",
    "OSTLER_API_RATE_LIMIT": "off",
}


@dataclass(frozen=True, slots=True)
class Replicas:
    """A home, and the other replica's API."""

    home: Home
    other: httpx2.Client


@pytest.fixture(scope="module")
def replicas(postgres_server: URL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with an_empty_database(postgres_server) as url:
        settings = _SHARED | {"OSTLER_DATABASE_URL": url}
        with at_home(tmp_path_factory.mktemp("one"), **settings) as home:
            cloud = {"NOVITA_API_KEY": "sk_simulated", "NOVITA_API_BASE_URL": home.server.cloud_url}
            folder = tmp_path_factory.mktemp("two")
            with (
                running_ostler(folder, "serve", **settings, **cloud) as server,
                server.client() as other,
            ):
                yield Replicas(home, other)


def test_a_change_by_one_replica_is_sent_by_the_other_at_once(replicas: Replicas) -> None:
    home, other = replicas.home, replicas.other
    project = a_name()
    instance_id = home.exited(project=project)
    for number in range(_ROUNDS):
        path = f"/api/instances?project={project}"
        tag = other.get(path).headers["ETag"]
        labels = {"round": str(number)}
        home.api.patch(f"/api/instances/{instance_id}", json={"labels": labels}).raise_for_status()
        answer = other.get(path, headers={"If-None-Match": tag})
        assert answer.status_code == 200
        assert parts(answer.json(), "instances")[0]["labels"] == labels


def test_a_merged_list_that_is_kept_by_one_replica_shows_what_the_other_changed(replicas: Replicas) -> None:
    home, other = replicas.home, replicas.other
    instance_id = home.exited()

    def shown() -> dict[str, object]:
        answer = other.get("/api/instances/comprehensive")
        return next(each for each in parts(answer.json(), "instances") if each["id"] == instance_id)

    for number in range(_ROUNDS):
        shown()
        labels = {"round": str(number)}
        home.api.patch(f"/api/instances/{instance_id}", json={"labels": labels}).raise_for_status()
        assert shown()["labels"] == labels
    stats = other.get("/api/cache/mergedInstances/stats").json()
    assert stats["sets"] >= _ROUNDS


def test_a_key_and_a_session_made_by_one_replica_are_good_at_the_other_and_gone_with_the_key(
    replicas: Replicas,
) -> None:
    home, other = replicas.home, replicas.other
    sign_in = {"Origin": home.server.url}
    for number in range(_ROUNDS):
        made = home.api.post("/api/keys", json={"name": f"key {number}", "role": "viewer"}).json()
        signed_in = httpx2.post(f"{home.server.url}/login", data={"key": made["key"]}, headers=sign_in)
        bearer = {"Authorization": f"Bearer {made['key']}"}
        session = {"Authorization": "", "Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
        for shown in (bearer, session):
            assert other.get("/api/instances", headers=shown).status_code == 200
        home.api.delete(f"/api/keys/{made['id']}").raise_for_status()
        began = SystemClock().monotonic()
        for shown in (bearer, session):
            while other.get("/api/instances", headers=shown).status_code == 200:
                assert SystemClock().monotonic() - began < _AT_MOST_S


def test_both_replicas_give_the_same_tag_once_they_know_the_same(replicas: Replicas) -> None:
    home, other = replicas.home, replicas.other
    project = a_name()
    home.exited(project=project)
    path = f"/api/instances?project={project}"

    def tags() -> dict[str, object]:
        return {"tags": {client.get(path).headers["ETag"] for client in (home.api, other)}}

    until(tags, lambda found: len(list(found["tags"])) == 1)  # type: ignore[call-overload]  # a set
