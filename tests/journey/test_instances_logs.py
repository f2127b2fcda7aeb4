"""What an instance writes, passed on from the cloud over HTTP: the end of it, and what comes."""

from collections.abc import Iterator

import pytest

from tests.support.home import Home, at_home, code_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def lines(home: Home, instance_id: str, **query: str | int) -> list[str]:
    answer = home.api.get(f"/api/instances/{instance_id}/logs", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return answer.text.splitlines()


def test_both_logs_are_shown_as_text_as_far_as_they_are_wanted(home: Home) -> None:
    instance_id = home.running()
    written = lines(home, instance_id)
    assert written[-1].endswith("application listens")
    assert lines(home, instance_id, tail=1) == written[-1:]
    assert lines(home, instance_id, tail=0) == []
    assert lines(home, instance_id, log="system")[-1].endswith("container started")


def test_the_log_of_what_has_stopped_tells_of_its_end(home: Home) -> None:
    instance_id = home.exited()
    assert lines(home, instance_id)[-1].endswith("container stopped")


def test_a_log_that_is_followed_shows_what_comes_and_ends_with_its_instance(home: Home) -> None:
    instance_id = home.running()
    path, query = f"/api/instances/{instance_id}/logs", {"follow": "true", "tail": "1"}
    with home.api.stream("GET", path, params=query) as answer:
        coming = answer.iter_lines()
        assert next(coming).endswith("application listens")
        home.asked(instance_id, "stop")
        assert next(coming).endswith("container stopped")
        home.waited(instance_id, "exited")
        home.asked(instance_id, "delete")
        assert list(coming) == []


def test_a_reader_that_leaves_leaves_room_for_others(home: Home) -> None:
    instance_id = home.running()
    for _ in range(120):  # more than are served at a time
        with home.api.stream(
            "GET", f"/api/instances/{instance_id}/logs", params={"follow": "true"}
        ) as answer:
            next(answer.iter_lines())
    assert lines(home, instance_id)


def test_what_has_no_log_yet_and_what_does_not_exist_are_not_found(home: Home) -> None:
    home.control("/faults", fault="noCapacity", route="POST *create", times=100)
    try:
        waiting = home.created(retryUntilAvailable=True)
        answer = home.api.get(f"/api/instances/{waiting}/logs")
        assert code_of(answer) == (404, "NOT_FOUND")
    finally:
        home.cloud.delete("/_sim/faults").raise_for_status()
    assert code_of(home.api.get("/api/instances/none/logs")) == (404, "INSTANCE_NOT_FOUND")


@pytest.mark.parametrize("query", [{"tail": "-1"}, {"tail": "10001"}, {"log": "kernel"}, {"lines": "1"}])
def test_a_wish_that_is_none_is_refused(home: Home, query: dict[str, str]) -> None:
    answer = home.api.get("/api/instances/any/logs", params=query)
    assert code_of(answer) == (400, "VALIDATION_ERROR")
