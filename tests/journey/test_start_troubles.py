"""What keeps Ostler from starting is told in a line with the way out and an exit code, never as a trace."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.clock import SystemClock
from ostler.store.database import DatabaseConfig
from ostler.store.sqlite import open_sqlite
from tests.support.server import Ended, ostler, running_ostler


def refused(ended: Ended, *words: str, code: int = 1) -> None:
    """Insist on a complaint of few lines that has the words."""
    assert ended.code == code, ended.stderr
    told = [line for line in ended.stderr.splitlines() if not line.startswith("{")]  # those are the log's
    assert told[0].startswith("ostler: ")
    assert len(told) <= 2, told
    assert [word for word in words if word not in ended.stderr] == [], ended.stderr


def test_a_second_ostler_on_the_same_ports_is_told_which_settings_to_change(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with running_ostler(tmp_path) as first:
        port = first.url.rpartition(":")[2]
        refused(ostler("up", directory=other, PORT=port), f"127.0.0.1:{port}", "set PORT")
        port = first.cloud_url.rpartition(":")[2]
        refused(ostler("up", directory=other, OSTLER_SIMULATOR_PORT=port), port, "set OSTLER_SIMULATOR_PORT")


def torn(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(100)
        opened.write(os.urandom(8192))


def of_the_future(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (torn, ("it is damaged", "restore a backup")),
        (of_the_future, ("revision 9999", "install the newer version")),
    ],
)
def test_a_database_that_cannot_be_used_is_told_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    file = tmp_path / "simulated.db"
    open_sqlite(DatabaseConfig(f"sqlite:///{file}"), SystemClock())._close()
    spoil(file)
    before = file.read_bytes()
    refused(ostler("up", directory=tmp_path), *words)
    assert file.read_bytes() == before


def test_a_data_directory_that_cannot_be_used_is_told_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = ostler("up", directory=tmp_path, OSTLER_DATA_DIR=str(tmp_path / "file" / "data"))
    refused(ended, "data directory", "OSTLER_DATA_DIR")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["admin.key", "secret.key"])
def test_a_file_of_a_key_that_holds_none_is_told_and_left_alone(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    refused(ostler("up", directory=tmp_path, OSTLER_ADMIN_KEY=""), f"{name} holds no key")
    assert (tmp_path / name).read_bytes() == content


def test_a_line_of_settings_that_nobody_understands_is_told_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=0\nno assignment ==\n")
    refused(ostler("up", directory=tmp_path), ".env=line 2: must be NAME=value", code=2)
