"""Health and figures while what Ostler depends on is really taken away, and when it is back."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest

from tests.support.databases import CACHE, address, served
from tests.support.home import Details, details_in, part, until
from tests.support.server import OstlerProcess, running_ostler
from tests.support.simulator import spawned_simulator

QUICK_S = 2.0  # for an answer on a machine that has other things to do


@pytest.fixture
def data() -> Iterator[Path]:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="health-", dir=CACHE, ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "data"


@contextmanager
def looking(server: OstlerProcess) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


def health(client: httpx2.Client) -> Details:
    answer = client.get("/health")
    found = details_in(answer)
    assert (answer.status_code == 503) == (found["status"] == "unhealthy")
    assert client.get("/health/live").status_code == 200
    return found


def standing(found: Details, dependency: str) -> object:
    return part(found, "dependencies", dependency, "status")


def until_it_is(client: httpx2.Client, status: str) -> Details:
    return until(lambda: health(client), lambda found: found["status"] == status)


@pytest.mark.needs("postgres")
def test_without_its_database_it_is_unhealthy_and_still_tells_its_figures(tmp_path: Path, data: Path) -> None:
    with ExitStack() as postgres:
        url = address(postgres.enter_context(served(data)))
        with running_ostler(tmp_path, OSTLER_DATABASE_URL=url) as server, looking(server) as client:
            until_it_is(client, "healthy")
            until(
                lambda: details_in(client.get("/api/metrics")), lambda found: found["countedAt"] is not None
            )
            postgres.close()
            gone = until_it_is(client, "unhealthy")
            began = monotonic()
            scrape, figures = client.get("/metrics"), client.get("/api/metrics")
            assert monotonic() - began < QUICK_S
            assert scrape.status_code == figures.status_code == 200
            assert 'ostler_instances{state="running"} 0.0' in scrape.text
            assert 'access="read",outcome="away"' in scrape.text
            assert standing(gone, "database") == "unhealthy"
            until(lambda: health(client), lambda found: standing(found, "jobs") == "unhealthy")
            assert address(postgres.enter_context(served(data))) == url
            back = until_it_is(client, "healthy")
            assert standing(back, "database") == standing(back, "jobs") == "healthy"


@pytest.mark.needs("postgres")
def test_without_the_job_runtime_alone_it_is_unhealthy(tmp_path: Path, postgres_url: str) -> None:
    with running_ostler(tmp_path, OSTLER_DATABASE_URL=postgres_url) as server, looking(server) as client:
        until_it_is(client, "healthy")
        with psycopg.connect(postgres_url) as blocker:
            blocker.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
            stuck = until_it_is(client, "unhealthy")
            assert (standing(stuck, "jobs"), standing(stuck, "database")) == ("unhealthy", "healthy")
            assert client.get("/health/ready").status_code == 503
        until_it_is(client, "healthy")


def test_without_the_cloud_it_is_degraded_and_answers_with_200(tmp_path: Path) -> None:
    with ExitStack() as clouds:
        cloud = clouds.enter_context(spawned_simulator(tmp_path / "cloud.state"))
        settings = {
            "NOVITA_API_KEY": "sk_x",
            "NOVITA_API_BASE_URL": cloud.address,
            "MAX_RETRY_ATTEMPTS": "1",
            "OSTLER_BREAKER_RECOVERY_SECONDS": "1",
            "INSTANCE_POLL_INTERVAL": "10",
            "OSTLER_RATE_LIMIT_PER_MINUTE": "0",
        }
        with running_ostler(tmp_path, **settings) as server, looking(server) as client:
            until_it_is(client, "healthy")
            cloud.kill()
            client.post("/api/cache/clear")
            assert client.get("/api/offers").status_code in {200, 502, 503}
            gone = until_it_is(client, "degraded")
            assert standing(gone, "cloud") == "degraded"
            assert standing(gone, "breakers") == "degraded"
            assert part(gone, "breakers", "read", "state") in {"open", "half_open"}
            assert part(gone, "breakers", "read", "nextTryAt")
            assert part(gone, "breakers", "create", "state") == "closed"
            assert 'ostler_cloud_breaker_state{kind="read",state="closed"} 0.0' in client.get("/metrics").text
            blind = until(lambda: health(client), lambda found: standing(found, "watcher") == "degraded")
            told = str(part(blind, "dependencies", "watcher", "detail"))
            assert " came to nothing: the cloud " in told
            assert [word for word in ("list_instances", "next try", "1 passes") if word in told] == []
            port = urlsplit(cloud.address).port or 0
            clouds.enter_context(spawned_simulator(tmp_path / "cloud.state", port=port))
            back = until_it_is(client, "healthy")
            assert standing(back, "breakers") == standing(back, "watcher") == "healthy"
            assert part(back, "breakers", "read", "nextTryAt") is None


def test_on_its_way_out_it_is_unhealthy_and_answers_until_it_is_gone(tmp_path: Path) -> None:
    with running_ostler(tmp_path, OSTLER_DRAIN_SECONDS="3") as server, looking(server) as client:
        until_it_is(client, "healthy")
        server.process.terminate()
        leaving = until_it_is(client, "unhealthy")
        assert {standing(leaving, each) for each in ("database", "jobs", "cloud")} == {"healthy"}
        assert client.get("/api/instances").status_code == 200
        assert server.process.wait(20) == 0
