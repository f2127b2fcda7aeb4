"""Starting and stopping: what a newcomer sees, what is refused, and how it ends."""

import json
import signal
import socket
import stat
from pathlib import Path

import httpx2
import pytest

from tests.support.server import Ended, ostler, running_ostler

_OTHER_CLOUD = {"NOVITA_API_KEY": "sk_any", "NOVITA_API_BASE_URL": "http://127.0.0.1:1"}


def complaint_of(ended: Ended) -> str:
    """Return what a command that did not start has to say, which is no stack trace."""
    assert "Traceback" not in ended.stderr
    said = [line for line in ended.stderr.splitlines() if not line.startswith("{")]
    assert said[0].startswith("ostler: "), said
    return "\n".join(said)


def test_a_newcomer_gets_the_address_the_way_in_and_a_simulated_cloud(tmp_path: Path) -> None:
    with running_ostler(tmp_path) as server:
        assert server.url.startswith("http://127.0.0.1:")
        with server.client(key=None) as browser:
            health = browser.get("/health")
        assert health.status_code == 200
        assert health.json()["status"] == "healthy"
        assert health.json()["simulated"] is True
        assert "simulated" in "".join(server.banner)


def test_the_key_is_made_once_and_lies_where_the_owner_alone_can_read_it(tmp_path: Path) -> None:
    for _ in range(2):
        with running_ostler(tmp_path, OSTLER_ADMIN_KEY="") as server:
            file = tmp_path / "admin.key"
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            with server.client(key=file.read_text().strip()) as client:
                assert client.get("/api/cache/stats").status_code == 200


def test_all_that_it_keeps_is_for_its_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)  # made by somebody who did not think of it
    with running_ostler(tmp_path, OSTLER_ADMIN_KEY=""):
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert {"admin.key", "secret.key", "simulated.db", "simulated.db-wal"} <= set(modes)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_the_login_link_signs_a_browser_in_once(tmp_path: Path) -> None:
    with running_ostler(tmp_path) as server:
        first = httpx2.get(server.login_url)
        assert first.status_code == 303
        cookie = first.headers["set-cookie"]
        assert "httponly" in cookie.lower()
        assert "samesite" in cookie.lower()
        session = {"Cookie": cookie.partition(";")[0]}
        page = httpx2.get(server.url, headers=session)
        assert page.status_code == 200
        assert "Quick start" in page.text
        assert httpx2.get(f"{server.url}/api/offers", headers=session).status_code == 200
        assert httpx2.get(server.login_url).status_code == 401


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_gracefully_and_quickly(tmp_path: Path, how: signal.Signals) -> None:
    with running_ostler(tmp_path) as server:
        assert server.stop(how) == 0
        assert not [entry for entry in server.entries() if entry["level"] == "error"]
        assert not [entry for entry in server.entries() if "uvicorn" in str(entry["logger"])]


def test_a_port_that_is_taken_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = ostler("up", directory=tmp_path, PORT=str(taken.getsockname()[1]))
    assert ended.code == 1
    assert "set PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_second_process_on_the_same_data_is_told_what_to_do(tmp_path: Path) -> None:
    with running_ostler(tmp_path):
        simulated = ostler("up", directory=tmp_path)
        beside = ostler("serve", directory=tmp_path, **_OTHER_CLOUD)
        simulator = ostler("simulator", "--port=0", f"--state={tmp_path}/simulator.state", directory=tmp_path)
    with running_ostler(tmp_path, "serve", **_OTHER_CLOUD):
        real = ostler("serve", directory=tmp_path, **_OTHER_CLOUD)
    assert [ended.code for ended in (simulated, beside, simulator, real)] == [1, 1, 1, 1]
    for ended in (simulated, beside, real):
        assert "OSTLER_DATA_DIR" in complaint_of(ended)
    assert "another process uses it" in complaint_of(simulator)
    for ended in (beside, real):
        assert f"{tmp_path} is in use by the process with id" in complaint_of(ended)


@pytest.mark.parametrize("name", ["simulated.db", "simulator.state"])
def test_a_file_that_is_no_database_is_told_by_its_error_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("no database" * 100)
    ended = ostler("up", directory=tmp_path)
    assert ended.code == 1
    assert "file is not a database" in complaint_of(ended)


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://ostler:canary@127.0.0.1:1/ostler", "Connection refused"),
        ("sqlite:////proc/ostler/ostler.db", "No such file or directory"),
    ],
)
def test_a_database_that_cannot_be_had_ends_the_start_quietly(tmp_path: Path, url: str, seen: str) -> None:
    ended = ostler("up", directory=tmp_path, OSTLER_DATABASE_URL=url)
    assert ended.code == 1
    assert seen in complaint_of(ended)
    assert "canary" not in ended.stderr


def test_wrong_settings_are_all_told_at_once_with_exit_code_2(tmp_path: Path) -> None:
    ended = ostler("up", directory=tmp_path, MAX_RETRY_ATTEMPTS="0", LOG_LEVEL="loud", CACHE_TIMEOUT="x")
    assert ended.code == 2
    for variable in ("MAX_RETRY_ATTEMPTS=0", "LOG_LEVEL=loud", "CACHE_TIMEOUT=x"):
        assert variable in ended.stderr
    assert ended.stdout == ""


def test_serve_without_a_key_says_what_is_missing(tmp_path: Path) -> None:
    ended = ostler("serve", directory=tmp_path, PORT="x")
    assert ended.code == 2
    assert ended.stderr.startswith("ostler: 2 settings cannot be used:\n  NOVITA_API_KEY=: must be set, or ")
    assert "PORT=x" in ended.stderr


def test_beyond_loopback_it_does_not_start_without_its_keys(tmp_path: Path) -> None:
    ended = ostler("up", directory=tmp_path, HOST="0.0.0.0")  # noqa: S104 -- must be refused
    assert ended.code == 2
    assert "OSTLER_SECRET_KEY" in ended.stderr


def test_unknown_commands_and_options_are_usage_errors(tmp_path: Path) -> None:
    for wrong in (("fly",), ("simulator", "--port", "70000"), ("worker", "--port", "x"), ("up", "--fast")):
        assert ostler(*wrong, directory=tmp_path).code == 2


def test_every_entry_of_the_log_is_json_and_none_holds_the_key(tmp_path: Path) -> None:
    with running_ostler(tmp_path, NOVITA_API_KEY="sk_canary_of_the_cloud", OSTLER_SIMULATE="true") as server:
        with server.client() as client:
            client.get("/api/offers?productName=4090")
            client.get("/api/templates/none")
        server.stop()
        lines = list(server.log)
    assert [json.loads(line) for line in lines]
    assert "canary" not in "".join(lines)
    assert "key-of-the-tests" not in "".join(lines)
