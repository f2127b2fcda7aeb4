"""What the page for operators names is there: commands, settings, codes, files. The files beside it work."""

import re
import subprocess
from pathlib import Path

import pytest

from ostler.cli import _COMMANDS
from ostler.settings import Settings
from tests.architecture.tree import ROOT, python_files
from tests.support.needs import path_of

OPERATIONS = ROOT / "docs" / "operations"
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
CODE = "\n".join(re.findall(r"```[^`]+```|`[^`\n]+`", PAGE))
CONTAINERFILE = (OPERATIONS / "Containerfile").read_text(encoding="utf-8")
UNIT = OPERATIONS / "ostler.service"
DEPLOYED = "\n".join(
    (OPERATIONS / name).read_text(encoding="utf-8")
    for name in ("Caddyfile", "Containerfile", "nginx.conf", "ostler.service")
)
SHOUTED = re.compile(r"\b(?!AF_)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")  # AF_…: families of addresses


def source() -> str:
    return "\n".join(each.text for each in python_files("src"))


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"(?:`|bin/)ostler ([a-z]+)", CODE))
    assert {"backup", "doctor", "restore", "serve"} <= named
    assert named <= {name for name, _, _ in _COMMANDS}


def test_every_setting_and_code_that_is_named_exists() -> None:
    settings = {field.alias for field in Settings.model_fields.values()}
    named = set(SHOUTED.findall(CODE + DEPLOYED))
    assert {"OSTLER_PUBLIC_URL", "STORE_UNAVAILABLE"} <= named
    assert named - settings <= set(SHOUTED.findall(source()))


def test_every_complaint_that_is_looked_up_is_made() -> None:
    complaints = re.findall(r'^\| [^|\n]*"([^"\n]+)"', PAGE, re.MULTILINE)
    words = {each.strip("… ").partition(" …")[0] for each in complaints}  # … is what differs
    assert len(words) > 5
    assert [each for each in words if each not in source()] == []


def test_every_file_and_target_that_is_named_exists() -> None:
    paths = re.findall(r"(?<![\w/])(?:/opt/ostler/)?((?:docs|tools|src)/[\w./-]*\w)", CODE + DEPLOYED)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    targets = re.findall(r"\bmake (?:-C \S+ )?([a-z]+)", CODE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(targets) <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_what_the_container_file_copies_exists_and_what_it_runs_is_shell() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    missing = [path for line in copied for path in line.split() if not (ROOT / path).exists()]
    assert copied
    assert missing == []
    lines = re.findall(r"^RUN (.+)$", CONTAINERFILE, re.MULTILINE)
    assert lines
    for line in lines:
        subprocess.run(["/bin/sh", "-n", "-c", line], check=True)


@pytest.mark.needs("systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/ostler/.venv/bin/ostler", "/bin/true"), encoding="utf-8")
    verified = subprocess.run(
        [path_of("systemd-analyze"), "verify", "--man=no", unit], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
