"""A test whose outside tool is missing is counted and told, or fails where every tool is required."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.support.needs import TOOLS, MissingToolError, UnknownToolError, missing_tools, path_of

TESTS = """
import pytest

@pytest.mark.needs("tmux")
def test_first(): pass

@pytest.mark.needs("tmux")
@pytest.mark.needs("curl", "node")
def test_second(): pass

def test_third(): pass
"""
BARE = {
    "PATH": "",
    "PYTHONPATH": str(ROOT),
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


def run_pytest(folder: Path, text: str, *options: str, **environment: str) -> tuple[int, list[str]]:
    """Run pytest on a file of tests where no tool is on the PATH; return its code and what it printed."""
    (folder / "test_sample.py").write_text(text, encoding="utf-8")
    plugin = ["-p", "tests.support.needs", "-p", "xdist.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options, "test_sample.py"],
        cwd=folder,
        env=BARE | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["one process", "two workers"])
def test_what_was_not_run_is_counted_and_told_with_its_remedy(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    code, printed = run_pytest(tmp_path, TESTS, *options)

    assert code == 0
    assert [line for line in printed if line.startswith("not run: ")] == [
        "not run: 1 test, curl is missing: install the package curl; "
        "node is missing: install the package nodejs; tmux is missing: install the package tmux",
        "not run: 1 test, tmux is missing: install the package tmux",
    ]
    assert "1 passed, 2 skipped" in printed[-1]


def test_what_was_not_run_fails_where_every_tool_is_required(tmp_path: Path) -> None:
    code, printed = run_pytest(tmp_path, TESTS, OSTLER_TEST_REQUIRE="all")

    assert code == 1
    assert "1 passed, 2 errors" in printed[-1]
    assert any("not run: tmux is missing: install the package tmux" in line for line in printed)


def test_a_tool_that_nobody_described_is_a_mistake_of_the_test(tmp_path: Path) -> None:
    code, printed = run_pytest(
        tmp_path, """import pytest\n@pytest.mark.needs("abacus")\ndef test_it(): pass"""
    )

    assert code == 1
    assert any("no tool is called 'abacus'" in line for line in printed)


def test_the_path_of_a_tool_is_that_of_the_first_of_its_names_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "google-chrome"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert path_of("chromium") == str(program)
    assert missing_tools(["chromium", "tmux", "curl"]) == ["tmux", "curl"]
    with pytest.raises(MissingToolError, match="tmux is missing: install the package tmux"):
        path_of("tmux")
    with pytest.raises(UnknownToolError, match="abacus"):
        path_of("abacus")


def test_a_given_database_server_is_a_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_TEST_POSTGRES_URL", "postgresql://127.0.0.1/x")

    assert path_of("postgres") == "postgresql://127.0.0.1/x"


def test_the_script_installs_every_tool_that_is_a_package() -> None:
    script = (ROOT / "tools" / "test-tools.sh").read_text(encoding="utf-8").splitlines()
    installed = {line.split()[-1] for line in script if re.search(r'(^|\|\| )need "', line)}

    words = "install the package "
    assert installed == {
        tool.remedy.removeprefix(words) for tool in TOOLS.values() if tool.remedy.startswith(words)
    }
