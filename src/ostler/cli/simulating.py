"""`ostler simulator`: the pretend cloud alone, for tests and for clients of the cloud's API.

See docs/simulator.md for its controls under `/_sim/`.
"""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from ostler.cli.complaints import complain
from ostler.cli.exits import Exit
from ostler.simulator.running import SimulatorConfig, run
from ostler.simulator.state_file import StateFileUnusable


def simulator(
    *,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = 3100,
    state: Path | None = None,
    speed: Annotated[float | None, Parameter(validator=Number(gte=0, lte=100_000))] = None,
) -> int:
    """Start the pretend cloud alone, on 127.0.0.1.

    Parameters
    ----------
    port
        Port to listen on; 0 takes any free one.
    state
        File that keeps the pretend cloud's world over restarts; without it the world ends with the process.
    speed
        How many times faster than real time its clock runs; 0 stops it, to be turned by hand. Without it, as
        fast as when the state file was last written, and as real time in a new world.
    """
    try:
        run(SimulatorConfig(port=port, state=state, speed=speed))
    except StateFileUnusable as error:
        complain(str(error))
        return Exit.FAILED
    except OSError as error:
        reason = error.strerror or error
        complain(f"cannot start the simulator on 127.0.0.1:{port}: {reason}; choose another one by --port")
        return Exit.FAILED
    sys.stdout.flush()
    return Exit.OK
