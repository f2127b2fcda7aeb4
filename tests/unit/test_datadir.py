"""The data directory: secrets are made once, survive, and belong to their owner alone."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostler.datadir import DataDirectory, DataDirectoryError


def test_a_secret_is_made_once_and_then_found(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "new").prepared()
    made = directory.secret("admin.key", "ostler")
    assert made.startswith("ostler_")
    assert DataDirectory(tmp_path / "new").secret("admin.key", "ostler") == made


def test_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "new").prepared()
    directory.secret("admin.key", "ostler")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "admin.key").stat().st_mode) == 0o600


def test_processes_that_start_together_agree_on_one_secret(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path).prepared()
    with ThreadPoolExecutor(16) as pool:
        made = set(pool.map(lambda _: directory.secret("admin.key", "ostler"), range(64)))
    assert len(made) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["admin.key"]


def test_a_directory_that_cannot_be_made_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataDirectoryError, match="set OSTLER_DATA_DIR"):
        DataDirectory(tmp_path / "file" / "ostler").prepared()


def test_without_a_secret_there_is_none(tmp_path: Path) -> None:
    assert DataDirectory(tmp_path).existing_secret("admin.key") is None
