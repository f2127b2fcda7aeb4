"""Waiting for an instance over HTTP: it is so, it is not so in time, it can no longer become so."""

from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.home import Details, Home, at_home, code_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def wait(home: Home, instance_id: str, wait_for: str, timeout_s: float = 60) -> Details:
    return home.looked(instance_id, waitFor=wait_for, timeoutSeconds=timeout_s)


def test_each_state_can_be_waited_for_as_life_goes_on(home: Home) -> None:
    instance_id = home.created()
    assert wait(home, instance_id, "running")["waited"] == "reached"
    assert wait(home, instance_id, "ready")["waited"] == "reached"
    home.asked(instance_id, "stop")
    exited = wait(home, instance_id, "exited")
    assert (exited["waited"], exited["status"]) == ("reached", "exited")
    home.asked(instance_id, "delete")
    gone = wait(home, instance_id, "terminated")
    assert (gone["waited"], gone["status"]) == ("reached", "terminated")


def test_a_change_wakes_all_who_wait_and_shows_what_is_new(home: Home) -> None:
    instance_id = home.running()
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(wait, home, instance_id, "changed") for _ in range(5)]
        asked = [pool.submit(home.asked, instance_id, "stop")]
        found = [each.result() for each in waiting]
        assert asked[0].result()["operationId"]
    assert {each["waited"] for each in found} == {"reached"}
    assert {each["status"] for each in found} <= {"stopping", "exited"}
    assert {frozenset(each) for each in found} == {frozenset(home.looked(instance_id))}


_CHANGES: dict[str, Callable[[int], Details]] = {
    "name": lambda number: {"name": f"demo-{number}"},
    "ttlSeconds": lambda number: {"ttlSeconds": 90_000 + number},
    "labels": lambda number: {"labels": {"round": str(number)}},
}


@pytest.mark.parametrize("what", [*_CHANGES, "last-used"])
def test_what_people_change_wakes_who_waits(home: Home, what: str) -> None:
    instance_id = home.running()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(wait, home, instance_id, "changed")
        for number in range(50):  # the first may come before anybody waits
            if what in _CHANGES:
                answer = home.api.patch(f"/api/instances/{instance_id}", json=_CHANGES[what](number))
            else:
                answer = home.api.put(f"/api/instances/{instance_id}/last-used")
            assert answer.status_code == 200, answer.text
            if futures.wait([waiting], timeout=0.2).done:
                break
    assert waiting.result()["waited"] == "reached"


def test_what_does_not_come_in_time_is_a_timeout_with_the_state_as_it_is(home: Home) -> None:
    instance_id = home.running()
    found = wait(home, instance_id, "exited", 0.2)
    assert (found["waited"], found["status"]) == ("timeout", "running")
    assert wait(home, instance_id, "changed", 0)["waited"] == "timeout"


def test_what_can_no_longer_be_is_told_at_once(home: Home) -> None:
    instance_id = home.exited()
    assert wait(home, instance_id, "ready")["waited"] == "impossible"
    assert wait(home, instance_id, "running")["waited"] == "impossible"
    home.asked(instance_id, "delete")
    assert wait(home, instance_id, "exited")["waited"] == "impossible"
    wait(home, instance_id, "terminated")
    assert wait(home, instance_id, "changed")["waited"] == "impossible"


def test_a_failure_ends_the_waiting_for_ready(home: Home) -> None:
    home.control("/fates", outcome="fail", message="no such image")
    instance_id = home.created(onFailure="keep")
    found = wait(home, instance_id, "ready")
    assert found["waited"] == "impossible"
    assert found["status"] in {"failed", "exited"}


def test_without_a_wish_the_answer_says_nothing_of_waiting(home: Home) -> None:
    assert home.looked(home.running())["waited"] is None


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ({"waitFor": "happiness"}, "waitFor"),
        ({"waitFor": "ready", "timeoutSeconds": "121"}, "timeoutSeconds"),
        ({"waitFor": "ready", "timeoutSeconds": "-1"}, "timeoutSeconds"),
        ({"waitfor": "ready"}, "waitfor"),
    ],
)
def test_a_wish_that_is_none_is_refused_by_field(home: Home, query: dict[str, str], wrong: str) -> None:
    answer = home.api.get(f"/api/instances/{home.running()}", params=query)
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert [each["field"] for each in answer.json()["error"]["validationErrors"]] == [wrong]


def test_nobody_can_wait_for_what_does_not_exist(home: Home) -> None:
    answer = home.api.get("/api/instances/none", params={"waitFor": "ready"})
    assert code_of(answer) == (404, "INSTANCE_NOT_FOUND")
