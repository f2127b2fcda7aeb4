"""Answers that are given again from memory: they ask no database, and never hide a change or an owner."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.support.home import Details, Home, at_home, until

# the watcher only looks when it is asked to, so that nothing changes by itself
SETTINGS = {"INSTANCE_POLL_INTERVAL": "300", "OSTLER_FAST_POLL_SECONDS": "0.2"}
MOVED_BY_TIME = {"ageSeconds", "costSoFar"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler"), **SETTINGS) as running:
        yield running


def still(answer: httpx2.Response) -> Details:
    """Return what an answer says, but for what time alone moves."""
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name not in MOVED_BY_TIME}


def reads(home: Home) -> float:
    """Return how many transactions have read the database."""
    name = 'ostler_database_transaction_duration_seconds_count{access="read",outcome="done"}'
    text = home.api.get("/metrics").text
    return float(next(line for line in text.splitlines() if line.startswith(name)).rsplit(" ", 1)[1])


@pytest.mark.parametrize("path", ["/{id}", "?limit=10"])
def test_what_has_not_changed_is_told_again_without_the_database(home: Home, path: str) -> None:
    url = "/api/instances" + path.format(id=home.exited())

    def look() -> Details:
        """Ask often, between two looks at what else reads now and then."""
        first, before = still(home.api.get(url)), reads(home)
        is_same = all(still(home.api.get(url)) == first for _ in range(50))
        return {"reads": reads(home) - before, "isSame": is_same}

    until(look, lambda seen: seen["isSame"] is True and float(str(seen["reads"])) < 25)


@pytest.mark.parametrize("change", ["label", "last-used", "start", "delete"])
def test_a_change_is_told_by_the_very_next_read(home: Home, change: str) -> None:
    instance_id = home.exited()
    url = f"/api/instances/{instance_id}"
    for path in (url, "/api/instances") * 2:
        home.api.get(path).raise_for_status()
    before = still(home.api.get(url))
    match change:
        case "label":
            home.api.patch(url, json={"labels": {"changed": "yes"}}).raise_for_status()
        case "last-used":
            home.api.put(f"{url}/last-used").raise_for_status()
        case _:
            home.asked(instance_id, change)
    after = still(home.api.get(url))
    assert after != before
    listed = home.api.get("/api/instances").json()["instances"]
    row = next(each for each in listed if each["id"] == instance_id)
    assert row.items() >= {name: after[name] for name in ("labels", "lastUsedAt", "name")}.items()


def test_an_answer_is_not_given_to_who_shows_no_key(home: Home) -> None:
    url = f"/api/instances/{home.exited()}"
    assert still(home.api.get(url))
    with home.server.client(key=None) as stranger:
        assert stranger.get(url).status_code == 401


def test_age_and_cost_go_on_in_what_is_told_again(home: Home) -> None:
    instance_id = home.running()
    first = home.looked(instance_id)

    def has_moved(found: Details) -> bool:
        return all(float(str(found[name])) > float(str(first[name])) for name in MOVED_BY_TIME)

    until(lambda: home.looked(instance_id), has_moved)
