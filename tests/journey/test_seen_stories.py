"""One story is told whole: from the request over the job to its calls, in traces and in logs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.collector import Collector, collecting
from tests.support.home import SETTINGS, Home, at_home
from tests.support.relay import Relay, relaying
from tests.support.server import running_ostler
from tests.support.simulator import spawned_simulator

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = f"00-{TRACE}-00f067aa0ba902b7-01"
CREATE = "create_instance"


@contextmanager
def traced_home(directory: Path, collector: Collector) -> Iterator[tuple[Home, Relay]]:
    with spawned_simulator(speed=60) as cloud, relaying(cloud.address) as relay:
        settings = {
            "NOVITA_API_KEY": "sk_canary_of_the_cloud",
            "NOVITA_API_BASE_URL": relay.url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        }
        with at_home(directory, **settings) as home:
            yield home, relay


def test_one_trace_leads_from_a_request_to_the_clouds_create_call(tmp_path: Path) -> None:
    with collecting() as collector, traced_home(tmp_path, collector) as (home, relay):
        path = "/api/instances?note=canary-in-a-query"
        answer = home.api.post(path, json=home.body(), headers={"traceparent": CALLER})
        instance_id = answer.json()["instanceId"]
        home.waited(instance_id, "running")
        told = [call.headers["traceparent"] for call in relay.calls_to("/instance/create")]
    created = [span for span in collector.named(f"cloud {CREATE}") if span.trace_id == TRACE]
    jobs = {span.span_id: span for span in collector.named(f"job {CREATE}") if span.trace_id == TRACE}
    requests = {span.span_id: span for span in collector.spans if span.parent_id == "00f067aa0ba902b7"}
    assert [each.split("-")[1] for each in told] == [TRACE]
    assert told[0].split("-")[2] in {span.span_id for span in created}
    assert {span.parent_id for span in created} <= set(jobs)
    assert {job.parent_id for job in jobs.values()} <= set(requests)
    assert b"canary" not in b"".join(collector.bodies)


def test_the_trace_goes_on_after_the_process_was_killed(tmp_path: Path) -> None:
    with collecting() as collector, spawned_simulator(speed=60) as cloud, relaying(cloud.address) as relay:
        settings = SETTINGS | {
            "NOVITA_API_KEY": "sk_x",
            "NOVITA_API_BASE_URL": relay.url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "MAX_RETRY_ATTEMPTS": "1",
        }
        with at_home(tmp_path, **settings) as home:
            instance_id = home.running()
            cloud.process.send_signal(19)  # SIGSTOP: the cloud does not answer
            answer = home.api.post(f"/api/instances/{instance_id}/stop", headers={"traceparent": CALLER})
            assert answer.status_code == 202
            home.server.process.kill()
            home.server.process.wait(10)
        cloud.process.send_signal(18)  # SIGCONT
        with at_home(tmp_path, **settings) as home:
            home.waited(instance_id, "exited")
    jobs = [span for span in collector.named("job stop_instance") if span.trace_id == TRACE]
    assert jobs, "the process that was killed exported nothing of it, so these are its successor's"


def test_a_webhook_delivery_is_a_span_that_names_the_host_alone(tmp_path: Path) -> None:
    with (
        collecting() as collector,
        at_home(
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            WEBHOOK_URL="http://127.0.0.1:9/canary-in-a-path?token=canary-in-a-query",
        ) as home,
    ):
        home.running()
        home.server.stop()
        assert collector.named("webhook delivery")
        assert b"canary" not in b"".join(collector.bodies)


def test_the_same_correlation_id_stands_in_the_log_from_request_to_cloud_call(tmp_path: Path) -> None:
    with at_home(tmp_path) as home:
        headers = {"X-Correlation-Id": "story-of-a-test"}
        answer = home.api.post("/api/instances", json=home.body(), headers=headers)
        instance_id = answer.json()["instanceId"]
        home.waited(instance_id, "running")
        home.server.stop()
        told = [each for each in home.server.entries() if each.get("correlation_id") == "story-of-a-test"]
    request = next(each for each in told if each["event"] == "request")
    call = next(each for each in told if each.get("operation") == CREATE and each["event"] == "cloud call")
    job = next(each for each in told if each["event"] == "job" and each["kind"] == CREATE)
    assert {each["instance_id"] for each in (request, call, job)} == {instance_id}
    assert len({each["operation_id"] for each in (request, call, job)}) == 1
    assert call["job_id"] == job["job_id"]


@pytest.mark.parametrize("form", ["console", "json"])
def test_the_log_is_lines_for_people_or_json_for_machines(tmp_path: Path, form: str) -> None:
    with running_ostler(tmp_path, OSTLER_LOG_FORMAT=form) as server, server.client() as client:
        client.get("/api/offers", params={"productName": "4090"})
        client.get("/api/refused", headers={"Authorization": "Bearer made-up"})
        server.stop()
        line, refused = (next(each for each in server.log if path in each) for path in ("offers", "refused"))
    assert line.startswith("{") == (form == "json")
    assert "HTTPStatus" not in refused
