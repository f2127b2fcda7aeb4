"""A machine whose clock can be put: a real server on it, and the cloud, whose clock is its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.home import SETTINGS, Home, home_of
from tests.support.server import running_program
from tests.support.simulator import spawned_simulator

_PATIENT_MS = str(36_000_000)  # no jump makes a start late


class Machine:
    """Where the server runs; its clock can be put."""

    def __init__(self, folder: Path) -> None:
        self.shift = folder / "shift"
        self.put(0)

    def put(self, seconds: int) -> None:
        """Put the clock so many seconds off."""
        draft = self.shift.with_suffix(".draft")
        draft.write_text(str(seconds))
        draft.replace(self.shift)


@contextmanager
def at_home_on_a_machine(folder: Path, **settings: str) -> Iterator[tuple[Home, Machine]]:
    """Run a server on such a machine for a block."""
    machine = Machine(folder)
    program = [sys.executable, "-m", "tests.support.shifted_server", str(machine.shift)]
    with spawned_simulator(speed=60) as cloud:
        environment = (
            SETTINGS
            | {
                "NOVITA_API_KEY": "sk_x",
                "NOVITA_API_BASE_URL": cloud.address,
                "INSTANCE_STARTUP_MAX_WAIT_TIME": _PATIENT_MS,
                "PYTHONPATH": str(Path(__file__).parents[2]),
            }
            | settings
        )
        with running_program(program, folder, **environment) as server, home_of(server) as home:
            yield home, machine
