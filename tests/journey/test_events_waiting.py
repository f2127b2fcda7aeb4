"""Waiting for the next events over HTTP, on each database."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.databases import KINDS
from tests.support.home import Details, Home, at_home_on, code_of, parts


@pytest.fixture(scope="module", params=KINDS)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home_on(request, tmp_path_factory) as running:
        yield running


def page(home: Home, **query: str | int | float) -> Details:
    answer = home.api.get("/api/events", params=query)
    assert answer.status_code == 200, answer.text
    found: Details = answer.json()
    return found


def test_a_life_can_be_followed_by_waiting_alone(home: Home) -> None:
    instance_id = home.created()
    seen: list[str] = []
    after = 0
    while "instance.running" not in seen:
        found = page(home, after=after, instanceId=instance_id, waitFor="changed")
        assert found["waited"] == "reached"
        seen += [str(each["event"]) for each in parts(found, "events")]
        after = int(str(found["nextAfter"]))
    assert seen.index("instance.creating") < seen.index("instance.placed") < seen.index("instance.running")
    assert len(set(seen)) == len(seen)


def test_many_who_wait_hear_of_the_same_event(home: Home) -> None:
    instance_id = home.running()
    after = int(str(page(home, limit=500, instanceId=instance_id)["nextAfter"]))
    with ThreadPoolExecutor(20) as pool:
        waiting = [
            pool.submit(page, home, after=after, instanceId=instance_id, waitFor="changed") for _ in range(20)
        ]
        home.asked(instance_id, "stop")
        found = [parts(each.result(), "events")[0]["event"] for each in waiting]
    assert found == ["instance.stopping"] * 20


def test_what_does_not_come_in_time_is_a_timeout_and_says_where_to_go_on(home: Home) -> None:
    instance_id = home.exited()
    last = int(str(page(home, limit=500, instanceId=instance_id)["nextAfter"]))
    found = page(home, after=last, instanceId=instance_id, waitFor="changed", timeoutSeconds=0.2)
    assert (found["events"], found["waited"], found["reset"]) == ([], "timeout", False)
    assert int(str(found["nextAfter"])) >= last


def test_an_id_that_is_not_of_this_log_is_told_at_once(home: Home) -> None:
    home.created()
    found = page(home, after=10**9, waitFor="changed", timeoutSeconds=60)
    assert (found["reset"], found["waited"]) == (True, "reached")
    assert 0 < int(str(found["nextAfter"])) < 10**9
    plain = page(home, after=10**9)
    assert (plain["reset"], plain["waited"]) == (True, None)
    assert plain["nextAfter"] == found["nextAfter"]


def test_whoever_does_not_ask_for_a_page_follows_the_log_and_goes_on_where_it_was(home: Home) -> None:
    instance_id = home.created()
    first = parts(page(home, after=0, instanceId=instance_id, waitFor="changed"), "events")[0]
    headers = {"Last-Event-ID": str(first["id"])}
    with home.api.stream("GET", "/api/events", params={"instanceId": instance_id}, headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = (line for line in stream.iter_lines() if line.startswith("event:"))
        assert next(lines) == "event: instance.placed"


def test_whoever_accepts_json_alone_gets_a_page(home: Home) -> None:
    answer = home.api.get("/api/events", headers={"Accept": "application/json, text/plain, */*"})
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"events", "nextAfter", "waited", "reset"}


@pytest.mark.parametrize("query", [{"waitFor": "ready"}, {"waitFor": "changed", "timeoutSeconds": "121"}])
def test_a_wish_that_is_none_is_refused(home: Home, query: dict[str, str]) -> None:
    assert code_of(home.api.get("/api/events", params=query)) == (400, "VALIDATION_ERROR")
