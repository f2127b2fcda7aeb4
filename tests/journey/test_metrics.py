"""What Prometheus reads is what Prometheus accepts, and what our dashboard and alerts ask for."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import Home, at_home, details_in, part, until
from tests.support.needs import ROOT, path_of

OPERATIONS = ROOT / "docs" / "operations"
OURS = re.compile(r"\b(?:ostler|process)_[a-z_]+")
PROMETHEUS_OWN = {"process_max_fds"}  # not told on every system


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler"), WEBHOOK_URL="http://127.0.0.1:9/nobody") as home:
        home.asked(home.running(), "stop")
        home.api.request("PROPFIND", "/api/offers")
        until(
            lambda: details_in(home.api.get("/api/metrics")),
            lambda found: bool(part(found, "deliveries")) and found["dollarsPerHour"] is not None,
        )
        yield home


@pytest.fixture
def exposition(home: Home) -> str:
    answer = home.api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=1.0.0")
    return answer.text


def promtool(*arguments: str | Path, given: str | None = None) -> None:
    ran = subprocess.run(  # noqa: S603 -- a tool of the tests
        [path_of("promtool"), *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def exported(exposition: str) -> set[str]:
    """Return the names of all series, and of the families that have none yet."""
    families = re.findall(r"^# TYPE (\S+) (\S+)", exposition, re.MULTILINE)
    names = {name for name, _ in families}
    for name, kind in families:
        if kind == "histogram":
            names |= {f"{name}_{ending}" for ending in ("bucket", "count", "sum")}
    return names


@pytest.mark.needs("promtool")
def test_the_metrics_pass_prometheus_own_check(exposition: str) -> None:
    promtool("check", "metrics", given=exposition)


@pytest.mark.needs("promtool")
def test_the_alert_rules_are_sound_and_alert_when_they_should() -> None:
    promtool("check", "rules", OPERATIONS / "alerts.yml")
    promtool("test", "rules", OPERATIONS / "alerts.test.yml")


def test_every_alert_asks_for_what_is_exported(exposition: str) -> None:
    rules = (OPERATIONS / "alerts.yml").read_text(encoding="utf-8")
    expressions = re.findall(r"expr: (.*(?:\n {10,}.*)*)", rules)
    asked = {name for each in expressions for name in OURS.findall(each)}
    assert len(asked) > 10
    assert asked - PROMETHEUS_OWN <= exported(exposition)


def test_every_panel_of_the_dashboard_asks_for_what_is_exported(exposition: str) -> None:
    dashboard = json.loads((OPERATIONS / "grafana-dashboard.json").read_text(encoding="utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in panels:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            asked = set(OURS.findall(target["expr"])) | set(re.findall(r"\bup\b", target["expr"]))
            assert asked, (panel["title"], target["expr"])
            assert asked - PROMETHEUS_OWN - {"up"} <= exported(exposition), panel["title"]
    shown = {name for panel in panels for target in panel["targets"] for name in OURS.findall(target["expr"])}
    kept_back = {"ostler_cache_values"}  # sizes are for the curious
    families = set(re.findall(r"^# TYPE (ostler_\S+) ", exposition, re.MULTILINE))
    unseen = {
        family
        for family in families - kept_back
        if not family.endswith("_created") and not any(name.startswith(family) for name in shown)
    }
    assert not unseen, "the dashboard shows all that is exported"


def test_no_label_is_an_id_or_what_a_stranger_may_choose(home: Home, exposition: str) -> None:
    ours = [line for line in exposition.splitlines() if line.startswith("ostler_")]
    (instance,) = home.api.get("/api/instances").json()["instances"]
    payloads = [job["payload"] for job in home.api.get("/api/jobs").json()["jobs"]]
    ids = [value for payload in payloads for name, value in payload.items() if name.endswith("Id")]
    labels = set(re.findall(r'[{,](?!le=)\w+="([^"]*)"', "\n".join(ours)))  # `le` is a bucket's bound
    assert labels & {str(told) for told in (instance["id"], instance["novitaInstanceId"], *ids)} == set()
    assert "PROPFIND" not in exposition
    assert 'method="other"' in exposition
    assert len(ours) < 5000


def test_what_has_happened_is_counted_under_its_name(exposition: str) -> None:
    for each in (
        'ostler_job_duration_seconds_count{kind="create_instance",outcome="done"} 1.0',
        'count{lane="user",operation="create_instance",outcome="answered"} 1.0',
        'ostler_webhook_attempt_duration_seconds_count{outcome="unreachable"}',
        'ostler_webhook_deliveries_open{status="waiting"}',
        'ostler_database_transaction_duration_seconds_count{access="write",outcome="done"}',
        'ostler_jobs_open{kind="engine.clean_up",priority="normal",status="waiting"} 1.0',
        'ostler_unowned_upstreams{kinship="orphan"} 0.0',
        "ostler_event_loop_lag_seconds_count",
        "ostler_watcher_lag_seconds ",
        "ostler_feed_followers 0.0",
        "process_resident_memory_bytes ",
        'ostler_build_info{version="',
    ):
        assert each in exposition, each


def test_the_figures_for_people_agree_with_those_for_prometheus(home: Home, exposition: str) -> None:
    found = details_in(home.api.get("/api/metrics"))
    (priced,) = re.findall(r"^ostler_price_per_hour_dollars (\S+)$", exposition, re.MULTILINE)
    assert found["dollarsPerHour"] == pytest.approx(float(priced), abs=1)
    assert part(found, "requests", "byStatus", "201") == 1
    assert part(found, "jobs", "create_instance", "byOutcome", "done") == 1
    assert part(found, "cloudCalls", "byOperation", "create_instance", "count") == 1
    assert part(found, "breakers", "create", "state") == "closed"
    for percentiles in (part(found, "requests", "latency"), part(found, "process", "eventLoopLag")):
        p50, p95, p99 = (part(percentiles, name) for name in ("p50Ms", "p95Ms", "p99Ms"))
        assert isinstance(p50, float)
        assert isinstance(p95, float)
        assert isinstance(p99, float)
        assert p50 <= p95 <= p99
