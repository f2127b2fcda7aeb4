"""What has not changed is not sent again: ETags of lists and instances over HTTP, on each database."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.support.databases import KINDS
from tests.support.home import Details, Home, a_name, at_home_on, details_in, parts, until
from tests.support.simulator_visitor import CREATE, ORDER

# the watcher only looks when it is asked to, so that ages stand still between two requests
SETTINGS = {"INSTANCE_POLL_INTERVAL": "300", "OSTLER_FAST_POLL_SECONDS": "0.2"}
NOT_MODIFIED = 304
CALM = 10  # looks in a row: some passes of the fast watcher


@pytest.fixture(scope="module", params=KINDS)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home_on(request, tmp_path_factory, **SETTINGS) as running:
        yield running


def asked(home: Home, path: str, tag: str = "", **query: str) -> httpx2.Response:
    headers = {"If-None-Match": tag} if tag else {}
    answer = home.api.get(f"/api/instances{path}", params=query, headers=headers)
    assert answer.status_code in {200, NOT_MODIFIED}, answer.text
    return answer


def settled(home: Home, path: str = "", **query: str) -> str:
    """Return the tag of a list or an instance once nothing more happens to it."""
    tags: list[str] = []

    def look() -> Details:
        tags.append(asked(home, path, **query).headers["ETag"])
        return {"last": tags[-CALM:]}

    until(look, lambda found: found["last"] == [tags[-1]] * CALM)
    return tags[-1]


def test_a_list_that_is_as_it_was_is_not_sent_again(home: Home) -> None:
    project = a_name()
    home.exited(project=project)
    tag = settled(home, project=project)
    again = asked(home, "", tag, project=project)
    assert (again.status_code, again.content, again.headers["ETag"]) == (NOT_MODIFIED, b"", tag)
    assert asked(home, "", f'"other", {tag}', project=project).status_code == NOT_MODIFIED
    assert asked(home, "", tag).status_code == 200  # another question
    assert asked(home, "", tag, project=project, limit="1").status_code == 200


def test_whatever_there_is_has_a_name_and_tags_may_come_in_several_lines(home: Home) -> None:
    both = [("If-None-Match", '"other"'), ("If-None-Match", "*")]
    for path in ("", f"/{home.created()}"):
        assert asked(home, path, "*").status_code == NOT_MODIFIED
        assert home.api.get(f"/api/instances{path}", headers=both).status_code == NOT_MODIFIED
        assert home.api.get(f"/api/instances{path}", headers=both).status_code == NOT_MODIFIED  # remembered


@pytest.mark.parametrize("change", ["create", "label", "last-used", "start", "pass"])
def test_every_change_of_a_list_is_sent(home: Home, change: str) -> None:
    instance_id = home.exited()
    tag = settled(home)
    before = asked(home, "").json()
    match change:
        case "create":
            home.created()
        case "label":
            home.api.patch(f"/api/instances/{instance_id}", json={"labels": {"a": "b"}}).raise_for_status()
        case "last-used":
            home.api.put(f"/api/instances/{instance_id}/last-used").raise_for_status()
        case "start":
            home.asked(instance_id, "start", {})
        case _:
            home.api.post("/api/instances/sync").raise_for_status()
    after = asked(home, "", tag)
    assert after.status_code == 200
    assert after.json() != before


def test_the_total_is_told_beside_the_list(home: Home) -> None:
    project = a_name()
    for _ in range(3):
        home.created(project=project)
    assert asked(home, "", project=project, limit="1").headers["X-Total-Count"] == "3"


def test_an_instance_is_sent_again_when_more_than_its_age_has_changed(home: Home) -> None:
    instance_id = home.exited()
    name = str(home.looked(instance_id)["name"])
    tag = settled(home, f"/{instance_id}")
    assert asked(home, f"/{instance_id}", tag).status_code == NOT_MODIFIED
    assert asked(home, f"/by-name/{name}", tag).status_code == NOT_MODIFIED
    home.api.put(f"/api/instances/{instance_id}/last-used").raise_for_status()
    assert asked(home, f"/{instance_id}", tag).json()["lastUsedAt"] is not None


def test_what_only_the_cloud_has_is_listed_behind_ours_and_paged_with_them(home: Home) -> None:
    for _ in range(3):
        made = home.cloud.post(CREATE, json=ORDER | {"name": a_name()})
        assert made.is_success, made.text
    home.created()
    home.api.post("/api/instances/sync").raise_for_status()
    ours = [each["id"] for each in parts(asked(home, "").json(), "instances")]
    theirs = [each["id"] for each in parts(asked(home, "", source="novita").json(), "instances")]
    together = asked(home, "", source="all").json()
    assert [each["id"] for each in together["instances"]] == ours + theirs
    assert len(theirs) >= 3
    assert {each["source"] for each in together["instances"]} >= {"novita", "merged"}
    walked: list[object] = []
    cursor: object = None
    while cursor is not None or not walked:
        query = {"source": "all", "limit": "2"} | ({} if cursor is None else {"cursor": str(cursor)})
        page = details_in(asked(home, "", **query))
        walked += [each["id"] for each in parts(page, "instances")]
        cursor = page["nextCursor"]
    assert walked == ours + theirs
    by_offset = asked(home, "", source="all", offset=str(len(ours) + 1)).json()
    assert [each["id"] for each in by_offset["instances"]] == theirs[1:]
