"""The command line: `ostler`. Commands are loaded when they are used, so that the others start quickly.

What runs a server is in serving.py; everything else will speak to the HTTP API like any client.
"""

import os
import sys

from cyclopts import App

from ostler import __version__

_COMMANDS = (
    ("up", "ostler.cli.serving:up", "Start everything in one process; with no key, on the simulated cloud."),
    ("serve", "ostler.cli.serving:serve", "Start API, dashboard and worker; a key is needed."),
    ("worker", "ostler.cli.serving:worker", "Carry out work only, beside servers on one PostgreSQL."),
    ("simulator", "ostler.cli.simulating:simulator", "Start the pretend cloud alone."),
    ("backup", "ostler.cli.keeping:backup", "Write a backup into one file, while Ostler runs."),
    ("restore", "ostler.cli.keeping:restore", "Put a backup where there is no database yet."),
    ("doctor", "ostler.cli.examining:doctor", "Check settings, database, key, clock, disk and ports."),
)


def command_line() -> App:
    """Return the application of all commands."""
    app = App(name="ostler", version=__version__, help="Looks after the GPUs you rent.")
    for name, target, help_text in _COMMANDS:
        app.command(target, name=name, help=help_text)
    return app


def main() -> None:
    """Run the command line and leave with its exit code."""
    os.umask(0o077)  # what is made holds what only its owner may read
    try:
        sys.exit(command_line()())
    except KeyboardInterrupt:
        sys.exit(130)
