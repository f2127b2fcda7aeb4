"""ruff, as pyproject.toml sets it up, refuses what the house style bans; each ban is tried on a sample."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

INTRODUCTION = '"""A sample.\n\nNobody calls it.\n"""\n\n'
SIX = "def f(a: int, b: int, c: int, d: int, e: int, g: int) -> int:\n    return a + b + c + d + e + g\n"
TANGLED = "def f(a: int) -> int:\n" + "".join(
    f"    if a == {n}:\n        return {n}\n" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10)
)
LAZY = "def f() -> object:\n    import json\n\n    return json\n"

BAD = [
    ("src/ostler/x.py", "import os\n\nKEY = os.environ['KEY']\n", "TID251"),
    ("src/ostler/x.py", "import os\n\nKEY = os.getenv('KEY')\n", "TID251"),
    ("src/ostler/x.py", "import time\n\ntime.sleep(1)\n", "TID251"),
    ("src/ostler/x.py", "import time\n\nNOW = time.time()\n", "TID251"),
    ("src/ostler/x.py", "from asyncio import sleep\n\nprint(sleep)\n", "TID251"),
    ("src/ostler/x.py", "import datetime\n\nNOW = datetime.datetime.now(datetime.UTC)\n", "TID251"),
    ("src/ostler/x.py", "import httpx\n\nprint(httpx)\n", "TID251"),
    ("tests/unit/test_x.py", "from unittest.mock import Mock\n\nMock()\n", "TID251"),
    ("src/ostler/x.py", "from . import y\n\nprint(y)\n", "TID252"),
    ("src/ostler/x.py", "print('x')\n", "T201"),
    ("src/ostler/x.py", SIX, "PLR0913"),
    ("src/ostler/x.py", TANGLED, "C901"),
    ("src/ostler/x.py", LAZY, "PLC0415"),
    ("src/ostler/x.py", "try:\n    print()\nexcept Exception:\n    print()\n", "BLE001"),
    ("src/ostler/x.py", "x = 1  # noqa\n", "PGH004"),
    ("src/ostler/x.py", "x: int = ''  # type: ignore\n", "PGH003"),
    ("src/ostler/x.py", "import datetime\n\nNOW = datetime.datetime(2026, 1, 1)\n", "DTZ001"),
]


def refusals(path: str, text: str) -> set[str]:
    """Return the codes under which ruff refuses a text at a path of the project."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    done = subprocess.run(
        [ruff, "check", "--no-cache", "--output-format=concise", f"--stdin-filename={path}", "-"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        input=text,
    )
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith(path)}


@pytest.mark.parametrize(("path", "text", "code"), BAD)
def test_a_banned_construction_is_refused(path: str, text: str, code: str) -> None:
    assert code in refusals(path, INTRODUCTION + text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/ostler/settings.py", "import os\n\nKEY = os.environ['KEY']\n"),
        ("src/ostler/clock.py", "import time\n\nNOW = time.time()\n"),
        ("src/ostler/cli/x.py", LAZY),
    ],
)
def test_the_one_place_that_may_is_let_pass(path: str, text: str) -> None:
    assert refusals(path, INTRODUCTION + text) == set()
