"""What is kept in memory, and the rows as caches, over HTTP on each database."""

from collections.abc import Iterator

import pytest

from tests.support.databases import KINDS
from tests.support.home import Details, Home, at_home_on, part

CACHES = {"products", "offers", "templates", "regions", "registryAuths", "mergedInstances"}
VIEWS = {"instanceDetails", "instanceStates"}


@pytest.fixture(scope="module", params=KINDS)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home_on(request, tmp_path_factory) as running:
        yield running


def stats(home: Home, name: str = "") -> Details:
    answer = home.api.get(f"/api/cache/{name}/stats" if name else "/api/cache/stats")
    assert answer.status_code == 200, answer.text
    found: Details = answer.json()
    return found


def test_all_caches_are_told_with_the_same_figures(home: Home) -> None:
    found = stats(home)["caches"]
    assert isinstance(found, dict)
    assert set(found) == CACHES | VIEWS
    for name, figures in found.items():
        assert {"size", "hits", "misses", "sets", "evictions", "hitRatio"} <= set(figures), name
        assert stats(home, name).keys() == figures.keys()


def test_the_rows_are_told_as_caches_with_their_age(home: Home) -> None:
    before = stats(home)
    instance_id = home.running()
    home.api.post("/api/instances/sync").raise_for_status()
    for _ in range(3):
        home.looked(instance_id)
    home.api.get("/api/instances").raise_for_status()
    after = stats(home)
    assert int(str(after["trackedStates"])) == int(str(before["trackedStates"])) + 1
    assert int(str(after["cachedIds"])) == int(str(before["cachedIds"])) + 1
    assert float(str(part(after, "caches", "instanceDetails", "oldestSeconds"))) < 30
    assert float(str(part(after, "caches", "instanceDetails", "hitRatio"))) > 0
    for view in VIEWS:
        sets = [int(str(part(found, "caches", view, "sets"))) for found in (before, after)]
        assert sets[1] > sets[0]


def test_the_rows_cannot_be_forgotten(home: Home) -> None:
    instance_id = home.exited()
    for answer in (
        home.api.delete(f"/api/cache/instanceDetails/{instance_id}"),
        home.api.post("/api/cache/clear", json={"cacheName": "instanceStates"}),
        home.api.post("/api/cache/cleanup", json={"cacheName": "instanceDetails"}),
    ):
        assert (answer.status_code, answer.json()["removed"]) == (200, 0)
        assert answer.json()["message"].endswith("shows the rows themselves: there is nothing to forget.")
    assert home.looked(instance_id)["status"] == "exited"


def test_one_cache_or_one_value_is_forgotten_alone(home: Home) -> None:
    def fill() -> None:
        home.api.get("/api/templates").raise_for_status()
        home.api.get("/api/instances/comprehensive").raise_for_status()

    fill()
    cleared = home.api.post("/api/cache/clear", json={"cacheName": "mergedInstances"}).json()
    assert cleared["caches"] == {"mergedInstances": 1}
    assert stats(home, "mergedInstances")["size"] == 0
    assert int(str(stats(home, "templates")["size"])) > 0
    fill()
    assert home.api.delete("/api/cache/mergedInstances/all").json()["removed"] == 1
    fill()
    assert home.api.post("/api/cache/cleanup").json()["caches"].keys() == CACHES
    assert home.api.post("/api/cache/clear").json()["removed"] > 1
    assert home.api.get("/api/cache/attic/stats").status_code == 404
