"""import-linter keeps the layers: each contract of pyproject.toml breaks on an import that it forbids.

The contracts run against a skeleton of the folders, so that what is tried does not depend on what is written.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

FOLDERS = (
    "api",
    "assembly",
    "cli",
    "clock",
    "cloud",
    "cloud.novita",
    "dashboard",
    "datadir",
    "domain",
    "domain.lifecycle",
    "engine",
    "jobs",
    "mcp",
    "notify",
    "settings",
    "settings_fleet",
    "settings_kinds",
    "settings_report",
    "simulator",
    "simulator.clock",
    "simulator.faces",
    "simulator.genesis",
    "simulator.state_file",
    "simulator.world",
    "store",
    "telemetry",
    "usecases",
    "watch",
)

# the file that imports, what it imports, and the name of the contract that forbids it
FORBIDDEN = [
    ("domain.lifecycle", "ostler.store", "Imports go down only"),
    ("store", "ostler.engine", "Imports go down only"),
    ("store", "ostler.cloud", "Imports go down only"),
    ("cloud", "ostler.store", "Imports go down only"),
    ("engine", "ostler.usecases", "Imports go down only"),
    ("usecases", "ostler.api", "Imports go down only"),
    ("watch", "ostler.api", "Imports go down only"),
    ("api", "ostler.dashboard", "Imports go down only"),
    ("api", "ostler.assembly", "Imports go down only"),
    ("cli", "ostler.mcp", "Imports go down only"),
    ("clock", "ostler.settings", "Imports go down only"),
    ("telemetry", "ostler.domain", "Imports go down only"),
    ("simulator", "ostler.clock", "The simulator imports nothing of ours"),
    ("simulator.world", "time", "The simulated world and its faces do not wait"),
    ("simulator.faces", "ostler.simulator.state_file", "The simulated world and its faces do not wait"),
    ("cloud", "ostler.simulator", "Only who starts the simulator"),
    ("usecases", "ostler.settings", "Settings end where things are put together"),
    ("domain", "sqlalchemy", "The domain does not wait"),
    ("domain.lifecycle", "asyncio", "The domain does not wait"),
    ("domain", "os", "The domain does not wait"),
    ("domain", "ostler.telemetry", "The domain does not wait"),
    ("engine", "ostler.cloud", "The engine has never heard of GPUs"),
    ("engine", "ostler.domain.lifecycle", "The engine has never heard of GPUs"),
    ("usecases", "ostler.cloud.novita", "A vendor is known where things are put together"),
]


def lint(folder: Path, modules: Mapping[str, str]) -> tuple[int, str]:
    """Run the contracts over a skeleton whose modules have the given texts."""
    for name, text in modules.items():
        package = folder.joinpath("ostler", *name.split("."))
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(text, encoding="utf-8")
    (folder / "ostler" / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(folder), "COLUMNS": "200", "PATH": ""},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def broken_contracts(report: str) -> list[str]:
    """Return the names of the contracts that the report calls broken."""
    return [line.removesuffix(" BROKEN") for line in report.splitlines() if line.endswith(" BROKEN")]


@pytest.fixture
def skeleton() -> dict[str, str]:
    return dict.fromkeys(FOLDERS, "")


def test_a_skeleton_of_all_folders_keeps_every_contract(tmp_path: Path, skeleton: dict[str, str]) -> None:
    code, report = lint(tmp_path, skeleton)

    assert code == 0, report
    assert "0 broken" in report


@pytest.mark.parametrize(("importer", "imported", "contract"), FORBIDDEN)
def test_a_forbidden_import_breaks_its_contract(
    tmp_path: Path, skeleton: dict[str, str], importer: str, imported: str, contract: str
) -> None:
    skeleton[importer] = f"import {imported}\n"

    code, report = lint(tmp_path, skeleton)

    assert code == 1, report
    assert any(name.startswith(contract) for name in broken_contracts(report)), report


def test_a_folder_without_a_layer_breaks_the_contract(tmp_path: Path, skeleton: dict[str, str]) -> None:
    skeleton["drawer"] = ""

    code, report = lint(tmp_path, skeleton)

    assert code == 1, report
    assert "drawer" in report
