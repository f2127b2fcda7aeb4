"""`ostler worker`: carries out what servers accepted, on their PostgreSQL, and is no server itself."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import URL

from tests.support.databases import an_empty_database
from tests.support.home import PRODUCT, TEMPLATE, Details, until
from tests.support.server import OstlerProcess, ostler, running_ostler, visiting
from tests.support.simulator import spawned_simulator

_CLOSED = "postgresql://ostler@127.0.0.1:1/ostler"


@pytest.fixture
def settings(postgres_server: URL) -> Iterator[dict[str, str]]:
    """Give what all processes of an installation share; the cloud's time stands still."""
    with an_empty_database(postgres_server) as url, spawned_simulator() as cloud:
        yield {
            "OSTLER_DATABASE_URL": url,
            "OSTLER_SECRET_KEY": "a-secret-key-that-all-replicas-share-0123456789",
            "OSTLER_FAST_POLL_SECONDS": "0.2",
            "OSTLER_RATE_LIMIT_PER_MINUTE": "0",
            "NOVITA_API_KEY": "sk_simulated",
            "NOVITA_API_BASE_URL": cloud.address,
        }


def counted(worker: httpx2.Client) -> Details:
    """Return the series of its metrics, as of now."""
    lines = worker.get("/metrics").raise_for_status().text.splitlines()
    return {name: value for name, _, value in (line.rpartition(" ") for line in lines)}


def health_of(worker: OstlerProcess) -> httpx2.Client:
    """Return a client, with the administrator's key, of what a worker shows."""
    line = next(line for line in worker.banner if "health" in line)
    return visiting(line.split()[1].removesuffix("/health,"))


@pytest.mark.needs("postgres")
def test_a_worker_finishes_what_a_server_that_is_gone_accepted(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with (
        httpx2.Client(base_url=settings["NOVITA_API_BASE_URL"], trust_env=False) as cloud,
        running_ostler(tmp_path, "worker --port 0", **settings) as worker,
        health_of(worker) as shown,
    ):
        with running_ostler(tmp_path, "serve", **settings) as server, server.client() as api:
            body = {"name": "handed-over", "productName": PRODUCT, "templateId": TEMPLATE}
            assert api.post("/api/instances", json=body).status_code == 201
        until(lambda: cloud.get("/_sim/ledger").json(), lambda ledger: bool(ledger["instances"]))
        cloud.post("/_sim/clock", json={"advance": 600})  # only now, with the server gone, does it run
        until(lambda: counted(shown), lambda found: found['ostler_instances{state="running"}'] == "1.0")
        assert shown.get("/health", headers={"Authorization": ""}).json()["status"] == "healthy"
        assert len(cloud.get("/_sim/ledger").json()["instances"]) == 1
        assert worker.stop() == 0


@pytest.mark.needs("postgres")
def test_a_worker_shows_its_health_and_metrics_and_nothing_else(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with running_ostler(tmp_path, "worker --port 0", **settings) as worker, health_of(worker) as shown:
        assert shown.get("/metrics", headers={"Authorization": ""}).status_code == 401
        assert {shown.get(path).status_code for path in ("/", "/api/instances", "/docs", "/login")} == {404}
        assert shown.post("/api/instances", json={}).status_code == 404


@pytest.mark.needs("postgres")
def test_a_worker_without_a_port_listens_nowhere_and_ends_when_asked(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with running_ostler(tmp_path, "worker", **settings) as worker:
        assert "--port" in "".join(worker.banner)
        assert worker.stop(signal.SIGINT) == 0
        assert not [entry for entry in worker.entries() if entry["level"] == "error"]


def test_what_a_worker_lacks_is_told_at_once(tmp_path: Path) -> None:
    ended = ostler("worker", directory=tmp_path)
    assert ended.code == 2
    assert "NOVITA_API_KEY" in ended.stderr
    assert "OSTLER_DATABASE_URL=: must be postgresql://" in ended.stderr


def test_a_port_of_a_worker_that_is_taken_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = f"--port={taken.getsockname()[1]}"
        ended = ostler(
            "worker", port, directory=tmp_path, OSTLER_SIMULATE="true", OSTLER_DATABASE_URL=_CLOSED
        )
    assert ended.code == 1
    assert "set --port" in ended.stderr
