"""What nobody uses is found and stopped when somebody asks for it, and nothing else is."""

from collections.abc import Iterator

import pytest

from ostler.domain.roles import Role
from tests.support.home import CLOUD_API, PRODUCT, Details, Home, a_name, details_in, parts, until
from tests.support.machine import Machine, at_home_on_a_machine

HOUR_S = 3600
TRIGGER, STATS = "/api/instances/auto-stop/trigger", "/api/instances/auto-stop/stats"
CHECK = "auto_stop_check"

Place = tuple[Home, Machine]


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    # passes are rare, so that what is stopped was stopped by being asked for
    with at_home_on_a_machine(tmp_path_factory.mktemp("ostler"), INSTANCE_POLL_INTERVAL="300") as found:
        yield found


def hours_pass(place: Place, hours: int) -> None:
    home, machine = place
    machine.put(hours * HOUR_S)
    home.control("/clock", advance=hours * HOUR_S)


def running(home: Home, **changes: object) -> str:
    """Have an instance run that the cloud does not take back meanwhile."""
    return home.running(billingMode="onDemand", **changes)


def gpus_of(home: Home, instance_id: str, percent: float) -> str:
    """Let the GPUs of an instance be as busy as that; return its id."""
    upstream = home.looked(instance_id)["novitaInstanceId"]
    home.control(f"/gpu-use/{upstream}", percent=percent)
    return instance_id


def triggered(home: Home, body: object = None) -> Details:
    answer = home.api.post(TRIGGER, json=body)
    assert answer.status_code == 200, answer.text
    return details_in(answer)


def verdicts(answer: Details) -> dict[object, object]:
    return {each["instanceId"]: each["verdict"] for each in parts(answer, "instances")}


def test_what_is_idle_is_told_and_then_stopped_and_nothing_else_is(place: Place) -> None:
    home, _ = place
    idle = gpus_of(home, running(home, idleStopMinutes=60), 1)
    busy = gpus_of(home, running(home, idleStopMinutes=60), 40)
    used = gpus_of(home, running(home, idleStopMinutes=60), 1)
    unlimited = gpus_of(home, running(home), 1)
    stranger = a_strangers(home)
    hours_pass(place, 3)
    home.api.put(f"/api/instances/{used}/last-used").raise_for_status()

    told = triggered(home)
    assert (told["dryRun"], told["message"]) == (True, "1 instance would be stopped.")
    assert verdicts(told) == {idle: "idle", busy: "busy", used: "in_use"}
    assert {home.looked(each)["status"] for each in (idle, busy, used, unlimited)} == {"running"}
    stats = details_in(home.api.get(STATS))
    assert (stats["watched"], stats["eligible"], stats["stopped"]) == (3, 2, 0)

    begun = triggered(home, {"dryRun": False})
    assert verdicts(begun) == {idle: "due", busy: "due", used: "in_use"}
    [job] = [each["jobId"] for each in parts(begun, "instances") if each["instanceId"] == idle]
    stopped = home.waited(idle, "exited")
    assert stopped["stopReason"] == "idle"
    assert details_in(home.api.get(f"/api/jobs/{job}"))["type"] == CHECK
    names = [each["event"] for each in home.listed(idle, "events")]
    assert names.index("instance.idle") < names.index("instance.stopping")
    assert {home.looked(each)["status"] for each in (busy, used, unlimited)} == {"running"}
    assert details_in(home.api.get(STATS))["stopped"] == 1
    assert home.cloud.get(f"{CLOUD_API}/gpu/instance?instanceId={stranger}").json()["status"] == "running"


def a_strangers(home: Home) -> str:
    """Let the account have a running instance that is not ours."""
    product = home.cloud.get(f"{CLOUD_API}/products", params={"productName": PRODUCT}).json()["data"][0]["id"]
    order = {
        "name": a_name(),
        "productId": product,
        "gpuNum": 1,
        "rootfsSize": 60,
        "imageUrl": "novitalabs/ubuntu:22.04",
        "kind": "gpu",
    }
    made = home.cloud.post(f"{CLOUD_API}/gpu/instance/create", json=order)
    assert made.status_code == 200, made.text
    return str(made.json()["id"])


def test_what_is_not_measured_is_not_stopped_and_that_is_an_event(place: Place) -> None:
    home, _ = place
    instance_id = gpus_of(home, running(home, idleStopMinutes=60), 0)
    hours_pass(place, 3)
    home.control("/faults", route="GET *metrics*", fault="status", status=404, times=1000)
    assert verdicts(triggered(home)) == {instance_id: "unmeasured"}
    triggered(home, {"dryRun": False})
    told = until(lambda: last_event(home, instance_id), lambda event: event["event"] == "instance.idle")
    assert "it is not stopped" in str(told["reason"])
    assert home.looked(instance_id)["status"] == "running"


def last_event(home: Home, instance_id: str) -> Details:
    return home.listed(instance_id, "events")[-1]


def test_a_check_says_what_is_wrong_with_it_and_when_the_next_one_is(place: Place) -> None:
    home, _ = place
    wrong = home.api.post(TRIGGER, json={"dryRun": "perhaps", "force": True})
    assert {each["field"]: each["code"] for each in parts(wrong.json(), "error", "validationErrors")} == {
        "dryRun": "INVALID_DRY_RUN",
        "force": "UNKNOWN_FIELD",
    }
    stats = until(lambda: details_in(home.api.get(STATS)), lambda found: found["schedulerRunning"] is True)
    assert stats["checkIntervalMinutes"] == 5
    assert stats["defaultInactivityThresholdMinutes"] is None
    assert str(stats["lastCheckAt"]) < str(stats["nextCheckAt"])


def test_a_key_of_a_project_checks_its_own_alone(place: Place) -> None:
    home, _ = place
    ours = gpus_of(home, running(home, idleStopMinutes=60, project="blue"), 0)
    theirs = gpus_of(home, running(home, idleStopMinutes=60, project="red"), 0)
    hours_pass(place, 3)
    grant = {"name": "blue operator", "role": Role.OPERATOR, "project": "blue"}
    key = str(details_in(home.api.post("/api/keys", json=grant))["key"])
    with home.server.client(key) as client:
        told = details_in(client.post(TRIGGER, json={"dryRun": False}))
        assert verdicts(told) == {ours: "due"}
        assert details_in(client.get(STATS))["watched"] in {0, 1}  # the other project has one too
    home.waited(ours, "exited")
    # its status says nothing: the watcher's own pass, which looks at all, may have stopped it meanwhile
    assert home.api.get("/api/jobs", params={"type": CHECK, "instanceId": theirs}).json()["jobs"] == []
