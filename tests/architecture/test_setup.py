"""The commands of the Makefile find a Python, install once, pass arguments on, and stop without noise.

They run in a folder of their own, with a space in its name and with stand-ins for what they would install.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-build.lock", "pyproject.toml")
BASIC_TOOLS = "/usr/bin:/bin"
BOLD_PYTHON = "#!/bin/sh\necho True\n"
SETUP = '#!/bin/sh\necho "installing $1"\ntouch .venv/.runtime .venv/.dev\n'
OSTLER = f"""#!/bin/sh
exec '{sys.executable}' "$0.py" "$@"
"""
OSTLER_ITSELF = """
import signal, sys

awaited = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
print(sys.argv[1:], flush=True)
signal.sigwait(awaited)
print("stopping", flush=True)
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, and an environment that looks installed."""
    folder = tmp_path / "a clone"
    for name in ("Makefile", "tools/setup.sh"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in LOCKS:
        (folder / name).touch()
    for name, text in {"python": BOLD_PYTHON, "ostler": OSTLER}.items():
        write_program(folder / ".venv" / "bin" / name, text)
    (folder / ".venv" / "bin" / "ostler.py").write_text(OSTLER_ITSELF, encoding="utf-8")
    (folder / ".venv" / ".runtime").touch()
    (folder / ".venv" / ".dev").touch()
    return folder


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def start_make(folder: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    """Start make in a session of its own, so that a signal can be sent to it as a terminal sends it."""
    return subprocess.Popen(
        ["make", *words],
        cwd=folder,
        env=clean(environment),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": BASIC_TOOLS, "LC_ALL": "C", **environment}


def make(folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Run make to its end; return its code and what it printed."""
    process = start_make(folder, *words, **environment)
    printed, _ = process.communicate(timeout=60)
    return process.returncode, printed


@pytest.mark.parametrize(
    ("number", "send"),
    [(signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)],
    ids=["Ctrl-C in the terminal", "make is told to end"],
)
def test_run_passes_its_arguments_and_ends_without_noise(
    clone: Path, number: signal.Signals, send: Callable[[int, int], None]
) -> None:
    process = start_make(clone, "run", "ARGS=--port 4000 'two words'")
    assert process.stdout is not None
    first = process.stdout.readline()

    send(process.pid, number)
    rest, _ = process.communicate(timeout=60)

    assert first == "['up', '--port', '4000', 'two words']\n"
    assert rest == "stopping\n"


def test_what_is_installed_is_not_installed_again(clone: Path) -> None:
    write_program(clone / "tools" / "setup.sh", SETUP)

    assert make(clone, "setup") == (0, "ready: .venv/bin/ostler\n")


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-build.lock", "pyproject.toml"])
def test_a_changed_lock_or_project_installs_again(clone: Path, name: str) -> None:
    write_program(clone / "tools" / "setup.sh", SETUP)
    later = (clone / ".venv" / ".runtime").stat().st_mtime + 10
    os.utime(clone / name, (later, later))

    code, printed = make(clone, "setup")

    assert code == 0
    assert "installing requirements.lock" in printed


def test_an_environment_that_does_not_run_here_is_installed_again(clone: Path) -> None:
    write_program(clone / "tools" / "setup.sh", SETUP)
    write_program(clone / ".venv" / "bin" / "python", "#!/bin/sh\necho False\n")

    code, printed = make(clone, "setup")

    assert code == 0
    assert "installing requirements.lock" in printed


def test_without_a_python_setup_says_what_it_looked_at_and_what_to_install(
    clone: Path, tmp_path: Path
) -> None:
    shutil.rmtree(clone / ".venv")
    shims = tmp_path / "shims"
    write_program(shims / "python3", "#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n")
    write_program(shims / "python3.12", "#!/bin/sh\necho 'it is Python 3.8' >&2\nexit 1\n")
    for tool in ("sh", "mktemp", "rm", "cat", "tail", "grep"):
        (shims / tool).symlink_to(f"/bin/{tool}")

    done = subprocess.run(
        ["/bin/sh", "tools/setup.sh", "requirements.lock"],
        cwd=clone,
        env={"PATH": str(shims)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert f"{shims}/python3: pyenv: python3: command not found" in done.stderr
    assert f"{shims}/python3.12: it is Python 3.8" in done.stderr
    assert "apt-get install python3" in done.stderr
    assert not (clone / ".venv").exists()


def test_help_names_every_command(clone: Path) -> None:
    code, printed = make(clone)

    assert code == 0
    named = {line.split()[1] for line in printed.splitlines()}
    assert named == set("help setup run test check fix bench chaos lock clean".split())  # noqa: SIM905 - read as words
