"""`ostler doctor`: says what is wrong with what Ostler depends on, and what to do about it."""

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.server import ostler, running_ostler
from tests.support.simulator import spawned_simulator


def findings(stdout: str) -> dict[str, dict[str, str]]:
    return {each["what"]: each for each in json.loads(stdout)}


def test_without_a_key_everything_is_well_and_simulated(tmp_path: Path) -> None:
    ended = ostler("doctor", directory=tmp_path)
    assert ended.code == 0
    assert "simulated" in ended.stdout
    assert "FAIL" not in ended.stdout


def test_a_data_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    ended = ostler("doctor", "--json", directory=tmp_path, OSTLER_DATA_DIR=str(folder))
    assert "will be made" in findings(ended.stdout)["data directory"]["detail"]
    assert (ended.code, list(tmp_path.iterdir())) == (0, [])
    (tmp_path / "file").write_text("in the way")
    ended = ostler("doctor", "--json", directory=tmp_path, OSTLER_DATA_DIR=str(tmp_path / "file" / "data"))
    assert findings(ended.stdout)["data directory"]["verdict"] == "failed"


def test_a_key_that_the_cloud_accepts_is_told_with_the_clock(tmp_path: Path) -> None:
    with spawned_simulator() as cloud:
        ended = ostler(
            "doctor", "--json", directory=tmp_path, NOVITA_API_KEY="sk_x", NOVITA_API_BASE_URL=cloud.address
        )
    assert ended.code == 0
    assert findings(ended.stdout)["cloud"]["verdict"] == "ok"
    assert findings(ended.stdout)["clock"]["verdict"] == "ok"


def test_a_cloud_that_cannot_be_reached_fails_with_what_to_check(tmp_path: Path) -> None:
    ended = ostler(
        "doctor",
        "--json",
        directory=tmp_path,
        NOVITA_API_KEY="sk_canary_key",
        NOVITA_API_BASE_URL="http://127.0.0.1:9",
        MAX_RETRY_ATTEMPTS="1",
    )
    assert ended.code == 1
    cloud = findings(ended.stdout)["cloud"]
    assert cloud["verdict"] == "failed"
    assert "NOVITA_API_BASE_URL" in cloud["hint"]
    assert "canary" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "url", ["postgresql://me:canary@127.0.0.1:9/x", "postgresql://127.0.0.1:9/x?user=me&password=canary"]
)
def test_a_database_that_cannot_be_reached_is_told_without_its_password(tmp_path: Path, url: str) -> None:
    doctor = ostler("doctor", "--json", directory=tmp_path, OSTLER_DATABASE_URL=url)
    assert findings(doctor.stdout)["database"]["verdict"] == "failed"
    assert "127.0.0.1:9/x" in findings(doctor.stdout)["database"]["detail"]
    server = ostler("up", directory=tmp_path, OSTLER_DATABASE_URL=url)
    assert (doctor.code, server.code) == (1, 1)
    assert "canary" not in doctor.stdout + doctor.stderr + server.stdout + server.stderr


def test_beside_a_running_server_it_reads_whose_database_it_is(tmp_path: Path) -> None:
    before = findings(ostler("doctor", "--json", directory=tmp_path).stdout)
    assert not list(tmp_path.glob("*.db"))
    with running_ostler(tmp_path) as server:
        port = str(urlsplit(server.url).port)
        ended = ostler("doctor", "--json", directory=tmp_path, PORT=port)
    during, after = findings(ended.stdout), findings(ostler("doctor", "--json", directory=tmp_path).stdout)
    assert ended.code == 0
    assert "not run on it yet" in before["database"]["detail"]
    assert during["port"]["verdict"] == "warning"
    assert "set PORT" in during["port"]["detail"]
    assert during["installation"] == after["installation"] != before["installation"]


def test_another_install_id_than_the_database_has_is_told(tmp_path: Path) -> None:
    with running_ostler(tmp_path, OSTLER_INSTALL_ID="abcd"):
        pass
    found = findings(ostler("doctor", "--json", directory=tmp_path, OSTLER_INSTALL_ID="efgh").stdout)
    assert found["installation"]["verdict"] == "warning"
    assert found["installation"]["detail"].startswith("abcd")


@pytest.mark.parametrize("url", ["postgresql://ostler:canary@127.0.0.1:1/ostler", ""])
def test_a_database_that_cannot_be_had_fails_with_what_to_check(tmp_path: Path, url: str) -> None:
    (tmp_path / "simulated.db").write_text("no database" * 100)
    ended = ostler("doctor", "--json", directory=tmp_path, OSTLER_DATABASE_URL=url)
    assert ended.code == 1
    assert findings(ended.stdout)["database"]["verdict"] == "failed"
    assert "canary" not in ended.stdout + ended.stderr


def test_a_receiver_is_reached_or_told_without_its_path(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/canary"
        reached = ostler("doctor", "--json", directory=tmp_path, WEBHOOK_URL=url)
    lost = ostler("doctor", "--json", directory=tmp_path, WEBHOOK_URL="http://127.0.0.1:1/canary")
    forbidden = ostler("doctor", "--json", directory=tmp_path, WEBHOOK_URL="http://10.0.0.1/canary")
    assert findings(reached.stdout)["webhooks"]["verdict"] == "ok"
    for ended in (lost, forbidden):
        assert ended.code == 1
        assert findings(ended.stdout)["webhooks"]["verdict"] == "failed"
        assert "canary" not in ended.stdout


def test_wrong_settings_are_a_usage_error(tmp_path: Path) -> None:
    assert ostler("doctor", directory=tmp_path, PORT="x").code == 2
