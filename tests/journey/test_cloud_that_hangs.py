"""A cloud that takes calls and answers none: reads are no slower, a stop is in time, nothing is doubled."""

from pathlib import Path

from tests.support.home import SETTINGS, Home, at_home, code_of, details_in, part, parts, until
from tests.support.simulator import spawned_simulator

CREATES = 8
HANGS_S = 120  # longer than any test may last
READS = ("", "?status=running", "/comprehensive")


def billed(home: Home) -> list[object]:
    ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
    return [each["id"] for each in ledger if each["alive"]]


def test_reads_go_on_and_a_stop_ends_in_time_while_calls_hang(tmp_path: Path) -> None:
    with spawned_simulator(speed=60) as cloud:
        settings = SETTINGS | {"NOVITA_API_KEY": "sk_x", "NOVITA_API_BASE_URL": cloud.address}
        with at_home(tmp_path, **settings) as home:
            kept = home.running()
            home.control("/faults", fault="latency", seconds=HANGS_S, times=10_000)
            accepted = [home.created() for _ in range(CREATES)]
            for path in READS:
                assert home.api.get(f"/api/instances{path}").status_code == 200
            assert home.looked(kept)["status"] == "running"
            assert home.api.get("/api/offers").status_code == 200
            assert home.server.stop() == 0  # its patience is shorter than the cloud hangs
            home.cloud.delete("/_sim/faults")
        with at_home(tmp_path, **settings) as home:
            for each in accepted:
                home.waited(each, "running")
            until(lambda: {"billed": len(billed(home))}, lambda found: found["billed"] == CREATES + 1)


def test_with_the_breakers_open_reads_answer_from_what_is_known(tmp_path: Path) -> None:
    settings = SETTINGS | {"MAX_RETRY_ATTEMPTS": "1", "NOVITA_API_KEY": "sk_x"}
    with (
        spawned_simulator(speed=60) as cloud,
        at_home(tmp_path, NOVITA_API_BASE_URL=cloud.address, **settings) as home,
    ):
        kept = home.running()
        cloud.kill()
        until(
            lambda: details_in(home.api.get("/health")),
            lambda found: part(found, "dependencies", "breakers", "status") == "degraded",
        )
        assert home.looked(kept)["status"] == "running"
        for path in READS:
            assert home.api.get(f"/api/instances{path}").status_code == 200
        assert home.created()  # the catalogue is known: it is accepted, and waits
        assert code_of(home.api.get("/api/templates/unknown"))[0] in {404, 502, 503}


def test_a_catalogue_that_nobody_tells_is_told_as_a_timeout(tmp_path: Path) -> None:
    settings = SETTINGS | {"MAX_RETRY_ATTEMPTS": "2", "REQUEST_TIMEOUT": "1000", "NOVITA_API_KEY": "sk_x"}
    with (
        spawned_simulator() as cloud,
        at_home(tmp_path, NOVITA_API_BASE_URL=cloud.address, **settings) as home,
    ):
        home.control("/faults", fault="latency", route="GET */template", seconds=HANGS_S, times=10_000)
        answer = home.api.get("/api/templates/101")
        assert code_of(answer) == (504, "REQUEST_TIMEOUT")
        assert int(answer.headers["Retry-After"]) >= 1
        assert "no answer within 1 s" in answer.json()["error"]["message"]


def test_a_silence_that_the_cloud_asks_for_is_told_with_its_end(tmp_path: Path) -> None:
    settings = SETTINGS | {"NOVITA_API_KEY": "sk_x"}
    with (
        spawned_simulator() as cloud,
        at_home(tmp_path, NOVITA_API_BASE_URL=cloud.address, **settings) as home,
    ):
        asked_s = 120
        assert home.api.get("/api/offers").status_code == 200
        home.control("/faults", fault="rateLimit", route="GET */template", retryAfter=asked_s, times=1)
        first = home.api.get("/api/templates/unknown")
        assert code_of(first) == (502, "NOVITA_API_ERROR")
        second = home.api.get("/api/templates/unknown")
        assert code_of(second) == (503, "NOVITA_API_ERROR")
        assert "not sent, since the cloud asks us to wait until" in second.json()["error"]["message"]
        assert 60 < int(second.headers["Retry-After"]) <= asked_s
        assert home.api.get("/api/offers").status_code == 200
        found = details_in(home.api.get("/health"))
        assert (found["status"], part(found, "dependencies", "cloud", "status")) == ("degraded", "degraded")
        assert "asks us to wait until" in str(part(found, "dependencies", "cloud", "detail"))
        metrics = home.api.get("/metrics").text
        assert 60 < float(metrics.split("\nostler_cloud_held_seconds ")[1].split()[0]) <= asked_s


CATALOGUE = ("/regions", "/products", "/offers?gpuNum=2&billingMode=onDemand", "/templates", "/templates/102")


def test_what_was_read_of_the_catalogue_is_known_after_a_restart_without_a_cloud(tmp_path: Path) -> None:
    settings = SETTINGS | {"NOVITA_API_KEY": "sk_x", "MAX_RETRY_ATTEMPTS": "1"}
    with (
        spawned_simulator() as cloud,
        at_home(tmp_path, NOVITA_API_BASE_URL=cloud.address, **settings) as home,
    ):
        known = {path: home.api.get(f"/api{path}").json() for path in CATALOGUE}
    with at_home(tmp_path, NOVITA_API_BASE_URL=cloud.address, **settings) as home:
        for path, before in known.items():
            answer = home.api.get(f"/api{path}")
            assert answer.status_code == 200, answer.text
            assert answer.json() == before | {"stale": True}
        assert home.created()
