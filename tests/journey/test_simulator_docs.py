"""The document of the simulator is true: its session runs as it stands, and no control is missing from it."""

import re
import subprocess
from pathlib import Path

import pytest

from ostler.simulator.control import Control
from ostler.simulator.controls import CONTROLS
from tests.support.needs import path_of
from tests.support.simulator import spawned_simulator

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"
DEFAULT_ADDRESS = "http://127.0.0.1:3100"


def session() -> str:
    """Return the shell lines of the document, in their order."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return "".join(blocks)


@pytest.mark.needs("curl")
def test_the_session_of_the_document_works_as_it_stands() -> None:
    lines = session()
    assert lines.count("\ncurl ") > 40
    assert lines.count(DEFAULT_ADDRESS) == 1

    with spawned_simulator(speed=1.0) as simulator:
        script = lines.replace(DEFAULT_ADDRESS, simulator.address).replace("curl ", f"{path_of('curl')} ")
        ran = subprocess.run(  # noqa: S603 -- the lines of our own document
            ["bash", "-euo", "pipefail", "-c", script],  # noqa: S607 -- any bash will do
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert ran.returncode == 0, ran.stderr + ran.stdout[-500:]
    assert '"status":"running"' in ran.stdout


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: f"{control.method}-{control.path}")
def test_every_control_has_a_line_in_the_document(control: Control) -> None:
    path = re.sub(r"\{id\}", r"\\S+", f"/_sim{control.path}")
    pattern = {
        "GET": rf'^curl -fsS "?\$SIM{path}(\?\S*)?$',
        "POST": rf'^curl -fsS (-X POST )?"?\$SIM{path}"?( -d .*| -X POST)?$',
        "DELETE": rf"^curl -fsS -X DELETE \$SIM{path}$",
    }[control.method]

    assert re.search(pattern, session(), re.MULTILINE), f"{control.method} {control.path}"
