"""The merged list over HTTP, on each database: sources, consistency, cache, a cloud that is down."""

from collections.abc import Iterator

import pytest

from tests.support.databases import KINDS
from tests.support.home import CLOUD_API, Details, Home, a_name, at_home_on, code_of, part, parts, until
from tests.support.simulator_visitor import CREATE, ORDER

PATH = "/api/instances/comprehensive"


@pytest.fixture(scope="module", params=KINDS)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    settings = {
        "INSTANCE_POLL_INTERVAL": "300",
        "COMPREHENSIVE_CACHE_TTL": "600",
        "OSTLER_BREAKER_RECOVERY_SECONDS": "1",
    }
    with at_home_on(request, tmp_path_factory, **settings) as running:
        yield running


def merged(home: Home, **query: str) -> Details:
    answer = home.api.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: Details = answer.json()
    return found


def member(found: Details, instance_id: str) -> Details:
    return next(each for each in parts(found, "instances") if each["id"] == instance_id)


def stranger(home: Home) -> str:
    made = home.cloud.post(CREATE, json=ORDER | {"name": a_name()})
    assert made.is_success, made.text
    return str(made.json()["id"])


def test_a_running_instance_is_merged_with_its_ways_in(home: Home) -> None:
    instance_id = home.running()
    found = member(merged(home, syncLocalState="true"), instance_id)
    details = home.looked(instance_id)
    assert (found["source"], found["dataConsistency"], found["status"]) == ("merged", "consistent", "running")
    for name in ("novitaInstanceId", "name", "region", "productName", "portMappings", "connectionDetails"):
        assert found[name] == details[name], name
    assert parts(found, "portMappings")[0]["endpoint"]
    assert found["lastSyncedAt"] == found["observedAt"] is not None


def test_what_only_the_cloud_has_is_shown_and_gets_no_row(home: Home) -> None:
    novita_id = stranger(home)
    found = merged(home, syncLocalState="true")
    seen = member(found, novita_id)
    assert (seen["source"], seen["kinship"], seen["novitaInstanceId"]) == ("novita", "stranger", novita_id)
    sources = [each["source"] for each in parts(found, "instances")]
    assert found["sources"] == {name: sources.count(name) for name in ("local", "novita", "merged")}
    assert found["total"] == len(sources)
    without = merged(home, includeNovitaOnly="false")
    assert "novita" not in {each["source"] for each in parts(without, "instances")}
    assert code_of(home.api.get(f"/api/instances/{novita_id}")) == (404, "INSTANCE_NOT_FOUND")


def test_what_is_not_placed_yet_is_local(home: Home) -> None:
    home.control("/faults", route="POST */gpu/instance/create", fault="latency", seconds=2, times=1)
    instance_id = home.created()
    found = member(merged(home), instance_id)
    assert (found["source"], found["status"], found["dataConsistency"]) == ("local", "creating", "consistent")


def test_the_list_is_kept_until_anything_changes(home: Home) -> None:
    instance_id = home.exited()

    def misses() -> int:
        answer = home.api.get("/api/cache/mergedInstances/stats")
        return int(answer.json()["misses"])

    def quiet() -> Details:
        before = misses()
        merged(home)
        return {"isKept": misses() == before}

    until(quiet, lambda found: found["isKept"] is True)
    kept = misses()
    first, second = merged(home), merged(home)
    assert misses() == kept
    assert first["instances"]
    assert part(second, "performance", "mergeProcessingTime") == 0
    assert float(str(part(second, "performance", "cacheHitRatio"))) > 0
    home.asked(instance_id, "delete")
    until(lambda: merged(home), lambda found: instance_id not in str(found["instances"]))
    assert misses() > kept


def test_a_wish_that_was_just_asked_is_shown_before_the_cloud_has_seen_it(home: Home) -> None:
    instance_id = home.running()
    home.control("/faults", route="POST */gpu/instance/stop", fault="latency", seconds=3, times=1)
    home.asked(instance_id, "stop")
    found = member(merged(home), instance_id)
    assert (found["status"], found["dataConsistency"]) == ("stopping", "local-newer")
    assert found["upstreamStatus"] == "running"
    home.waited(instance_id, "exited")


def test_a_look_that_is_wished_for_shows_what_happened_at_the_cloud(home: Home) -> None:
    instance_id = home.running()
    novita_id = home.looked(instance_id)["novitaInstanceId"]
    stopped = home.cloud.post(f"{CLOUD_API}/gpu/instance/stop", json={"instanceId": novita_id})
    assert stopped.is_success, stopped.text
    found = until(
        lambda: member(merged(home, syncLocalState="true"), instance_id),
        lambda now: now["status"] == "exited",
    )
    assert found["dataConsistency"] == "consistent"


def test_while_the_cloud_is_down_the_last_picture_is_shown_with_its_age(home: Home) -> None:
    instance_id = home.running()
    before = merged(home, syncLocalState="true")
    assert part(before, "cloud", "synced") is True
    home.control("/faults", route="*", fault="status", status=503, times=1000)
    try:
        found = merged(home, syncLocalState="true")
        assert part(found, "cloud", "synced") is False
        assert member(found, instance_id)["status"] == "running"
        assert float(str(part(found, "cloud", "ageSeconds"))) > 0
        waited_ms = float(str(part(found, "performance", "novitaApiTime")))
        assert waited_ms < 9_000, "a pass that was refused is waited for no longer"
        quick = merged(home)
        assert float(str(part(quick, "performance", "novitaApiTime"))) < 100
    finally:
        home.cloud.delete("/_sim/faults").raise_for_status()


@pytest.mark.parametrize("query", [{"includeNovitaOnly": "perhaps"}, {"sync": "true"}])
def test_a_wish_that_is_none_is_refused(home: Home, query: dict[str, str]) -> None:
    assert code_of(home.api.get(PATH, params=query)) == (400, "VALIDATION_ERROR")
