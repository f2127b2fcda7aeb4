"""`/api/jobs` over HTTP, on each database: jobs, operations and deliveries as one list, to be acted on."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

import pytest

from tests.support.databases import KINDS, an_empty_database
from tests.support.home import Details, Home, at_home, code_of, details_in, parts, until
from tests.support.programs import RunningReceiver, in_python, receiving_program

SECRET = "a secret of the right length"
FIELDS = {
    *("id", "type", "status", "priority", "payload", "attempts", "maxAttempts", "createdAt"),
    *("processedAt", "completedAt", "nextRetryAt", "error"),
}
STATUSES = {"pending", "processing", "completed", "failed"}
UNKNOWN = ["j999999", "d999999", "o2222", "j0", "j", "x1", "17", "j-1", "jone", f"j{10**30}"]


@pytest.fixture(scope="module")
def receiver() -> Iterator[RunningReceiver]:
    with receiving_program(in_python("python/receive.py"), SECRET) as running:
        yield running


@pytest.fixture(scope="module", params=KINDS)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, receiver: RunningReceiver
) -> Iterator[Home]:
    settings = {"WEBHOOK_SECRET": SECRET, "WEBHOOK_URL": receiver.url}
    with ExitStack() as stack:
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server")
            settings["OSTLER_DATABASE_URL"] = stack.enter_context(an_empty_database(server))
        yield stack.enter_context(at_home(tmp_path_factory.mktemp("ostler"), **settings))


def listed(home: Home, **query: object) -> list[Details]:
    answer = home.api.get("/api/jobs", params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    return parts(answer.json(), "jobs")


def one(home: Home, job: Details) -> Details:
    return details_in(home.api.get(f"/api/jobs/{job['id']}"))


def acted(home: Home, job: Details, verb: str) -> Details:
    answer = home.api.post(f"/api/jobs/{job['id']}/{verb}")
    assert answer.status_code == 200, answer.text
    return details_in(answer)


def test_a_life_leaves_its_jobs_operations_and_deliveries_in_one_list(home: Home) -> None:
    instance_id = home.exited()
    home.asked(instance_id, "start")
    home.waited(instance_id, "ready")

    def delivered() -> Details:
        return {"open": listed(home, instanceId=instance_id, type="send_webhook", status="pending")}

    until(delivered, lambda found: found["open"] == [])
    found = listed(home, instanceId=instance_id)

    types = [each["type"] for each in found]
    assert {"create_instance", "stop_instance", "start_instance", "send_webhook"} <= set(types)
    assert (types.count("monitor_instance"), types.count("monitor_startup")) == (1, 1)
    told = [each["event"] for each in home.listed(instance_id, "events")]
    assert types.count("send_webhook") == len(told)
    created = [str(each["createdAt"]) for each in found]
    assert created == sorted(created, reverse=True)
    for each in found:
        assert set(each) == FIELDS
        assert each["status"] in STATUSES
        assert each["payload"]["instanceId"] == instance_id  # type: ignore[index]  # an object, as the next line proves
        assert one(home, each)["payload"] == each["payload"]
    [monitor] = listed(home, instanceId=instance_id, type="monitor_startup")
    assert (monitor["status"], monitor["error"]) == ("completed", None)
    assert monitor["completedAt"]
    stats = details_in(home.api.get("/api/jobs/stats"))
    counted = {(each["type"], each["status"]): int(str(each["count"])) for each in parts(stats, "counts")}
    assert counted["monitor_instance", "completed"] >= 1
    assert counted["monitor_startup", "completed"] >= 1
    assert counted["send_webhook", "completed"] >= len(told)
    assert sum(counted.values()) == stats["total"]
    assert int(str(stats["finishedLastMinute"])) >= len(told)


def test_pages_go_through_all_of_it_once_whatever_comes_meanwhile(home: Home) -> None:
    instance_id = home.exited()
    whole = [each["id"] for each in listed(home, instanceId=instance_id, limit=500)]
    seen: list[object] = []
    cursor = None
    while True:
        query = {"instanceId": instance_id, "limit": "3"} | ({"cursor": cursor} if cursor else {})
        page = home.api.get("/api/jobs", params=query).json()
        seen += [each["id"] for each in page["jobs"]]
        if not cursor:
            home.asked(instance_id, "start")  # more work than the pages had
            home.waited(instance_id, "ready")
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert seen == whole
    assert len(set(seen)) == len(seen) > 3


def test_filters_by_type_and_status_leave_nothing_else(home: Home) -> None:
    instance_id = home.running()
    everything = listed(home, instanceId=instance_id)
    for status in STATUSES:
        for each in listed(home, instanceId=instance_id, status=status):
            assert each["status"] == status
    for type_ in {each["type"] for each in everything}:
        ids = [each["id"] for each in listed(home, instanceId=instance_id, type=type_)]
        assert ids == [each["id"] for each in everything if each["type"] == type_]
    assert listed(home, type="nothing_like_it") == []
    assert listed(home, instanceId="nobody") == []
    newest_first = [str(each["createdAt"]) for each in listed(home)]
    assert all(later >= earlier for later, earlier in pairwise(newest_first))


def test_a_cancelled_operation_is_superseded_by_a_stop_and_can_be_tried_again(home: Home) -> None:
    with home.slowly():
        instance_id = home.created()
        [monitor] = listed(home, instanceId=instance_id, type="monitor_instance")
        assert (monitor["status"], monitor["completedAt"]) == ("processing", None)
        assert acted(home, monitor, "retry")["status"] == "processing"
        cancelled = acted(home, monitor, "cancel")
        assert (cancelled["status"], cancelled["error"]) == ("failed", "superseded")
    home.waited(instance_id, "exited")
    again = acted(home, monitor, "retry")
    assert (again["type"], again["status"]) == ("monitor_startup", "processing")
    assert again["id"] != monitor["id"]
    assert home.waited(instance_id, "ready")["status"] == "ready"
    done = one(home, again)
    assert done["status"] == "completed"
    for verb in ("cancel", "retry"):
        assert acted(home, done, verb) == done
    assert home.looked(instance_id)["status"] == "ready"


def test_a_delivery_that_is_not_taken_can_be_given_up_and_sent_now(
    home: Home, receiver: RunningReceiver
) -> None:
    dead = home.api.post("/api/webhooks", json={"url": "http://127.0.0.1:9/", "events": ["instance.placed"]})
    assert dead.status_code == 201
    instance_id = home.running()

    def of_the_dead() -> list[Details]:
        found = listed(home, instanceId=instance_id, type="send_webhook")
        return [each for each in found if each["payload"]["endpointId"] == dead.json()["id"]]  # type: ignore[index]

    tried = until(
        lambda: of_the_dead()[0], lambda each: each["attempts"] != 0 and each["status"] == "pending"
    )
    assert "no connection" in str(tried["error"])
    assert str(tried["nextRetryAt"]) > str(tried["processedAt"])
    cancelled = acted(home, tried, "cancel")
    assert (cancelled["status"], cancelled["error"], cancelled["nextRetryAt"]) == (
        "failed",
        "cancelled",
        None,
    )
    assert acted(home, tried, "retry")["status"] in {"pending", "processing"}
    until(lambda: one(home, tried), lambda each: int(str(each["attempts"])) > int(str(tried["attempts"])))
    receiver.until_it_took("instance.usable", instance_id)
    assert home.api.delete(f"/api/webhooks/{dead.json()['id']}").status_code == 200


def test_what_names_no_job_is_not_found(home: Home) -> None:
    deletion = home.asked(home.created(), "delete")
    for job_id in (*UNKNOWN, f"o{deletion['operationId']}"):  # a delete waits for nothing to become usable
        for answer in (
            home.api.get(f"/api/jobs/{job_id}"),
            home.api.post(f"/api/jobs/{job_id}/cancel"),
            home.api.post(f"/api/jobs/{job_id}/retry"),
        ):
            assert code_of(answer) == (404, "JOB_NOT_FOUND"), job_id


def test_a_wrong_question_is_told_by_its_field(home: Home) -> None:
    wrong = {"status": "sleeping", "limit": "0", "cursor": "17", "before": "1"}
    answer = home.api.get("/api/jobs", params=wrong)
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    told = {each["field"] for each in parts(answer.json(), "error", "validationErrors")}
    assert told == set(wrong)


def test_a_cancelled_create_is_called_off_and_leaves_nothing_at_the_cloud(home: Home) -> None:
    instance_id = home.created(retryUntilAvailable=True, maxPricePerHour=0.00001)
    until(lambda: home.looked(instance_id), lambda found: found["phase"] == "waiting_for_stock")
    [create] = listed(home, instanceId=instance_id, type="create_instance")
    cancelled = acted(home, create, "cancel")
    assert (cancelled["status"], cancelled["error"]) == ("failed", "cancelled")
    home.waited(instance_id, "terminated")
    assert instance_id not in home.cloud.get("/_sim/ledger").text


@pytest.mark.parametrize(("verb", "end"), [("stop", "exited"), ("delete", "terminated")])
def test_what_ends_the_bill_goes_on_although_its_job_was_cancelled(home: Home, verb: str, end: str) -> None:
    instance_id = home.running()
    with home.slowly():
        home.control("/faults", fault="timeoutBefore", route=f"POST *{verb}", times=1)
        home.asked(instance_id, verb)
        until(lambda: details_in(home.cloud.get("/_sim/faults")), lambda found: found["faults"] == [])
        [job] = listed(home, instanceId=instance_id, type=f"{verb}_instance")
        assert acted(home, job, "cancel")["status"] == "failed"
    home.waited(instance_id, end)
    ended = [each["outcome"] for each in home.listed(instance_id, "operations") if each["kind"] == verb]
    assert ended == ["succeeded"]
