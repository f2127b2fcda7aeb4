"""Starts programs of Ostler quickly, to be killed often: imports it once, then forks one for every life.

A program itself: for each line on its standard input, `{"arguments": […], "environment": {…}, "log": path}`,
it forks a child that is `ostler` with these arguments, and prints the child's process id. The child is a
process like any other: it has opened nothing before the fork, and is ended by a signal. So a hundred kills
cost seconds of imports, not minutes.
"""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from ostler.cli import main as ostler

_COMMANDS = ("ostler.cli.serving", "ostler.cli.simulating")


def main() -> None:
    """Fork at each line; end, with whatever still runs, at the end of the input."""
    for command in _COMMANDS:
        import_module(command)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the dead
    children: list[int] = []
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _live(order["arguments"], order["environment"], Path(order["log"]))
        children.append(child)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
    for child in children:
        _end(child)


def _live(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    """Be the program; never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ.clear()  # noqa: TID251 -- the environment of the program that this process becomes
    os.environ.update(environment)  # noqa: TID251 -- as above
    sys.argv = ["ostler", *arguments]
    try:
        ostler()
    except SystemExit as end:
        os._exit(int(end.code or 0))


def _end(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main()
