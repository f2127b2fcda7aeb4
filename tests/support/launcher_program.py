"""Starts programs of Ostler quickly: imports it once, then forks one for every life.

A program itself, on a socket as its standard input. For each line `{"arguments": […], "environment": {…},
"folder": path}`, which comes with the two files that are to be the child's output and errors, it forks a
child that is `ostler` with these arguments and says `{"started": pid}`; when a child has ended it says
`{"ended": pid, "code": …}`. A child is a process like any other: nothing was opened before the fork but the
socket, which it closes, and a signal ends it. So a hundred lives cost seconds of imports, not minutes.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from importlib import import_module

from ostler.cli import main as ostler

_COMMANDS = ("ostler.cli.serving", "ostler.cli.simulating", "ostler.simulator.running")
_LONGEST_ORDER = 1 << 20
_OUTPUTS = (1, 2)


def main() -> None:
    """Serve orders until there is nobody left to give any; what still runs then is killed."""
    for command in _COMMANDS:
        import_module(command)
    gc.freeze()  # what the children share stays shared
    channel = socket.socket(fileno=0)
    mourned, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.set_wakeup_fd(bell)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # the bell rings
    children: set[int] = set()
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        selector.register(mourned, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if mourned in ready:
                os.read(mourned, 4096)
                _bury(channel, children)
            if channel in ready and not _serve(channel, children):
                break
    for child in children:
        os.kill(child, signal.SIGKILL)


def _serve(channel: socket.socket, children: set[int]) -> bool:
    """Carry out one order; False: there will be no more."""
    line, files, _, _ = socket.recv_fds(channel, _LONGEST_ORDER, len(_OUTPUTS))
    if not line:
        return False
    while not line.endswith(b"\n"):
        line += channel.recv(_LONGEST_ORDER)
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        channel.close()
        _live(order["arguments"], order["environment"], order["folder"], files)
    for file in files:
        os.close(file)
    children.add(child)
    _say(channel, {"started": child})
    return True


def _bury(channel: socket.socket, children: set[int]) -> None:
    for child in list(children):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            children.remove(child)
            _say(channel, {"ended": child, "code": os.waitstatus_to_exitcode(status)})


def _say(channel: socket.socket, words: dict[str, int]) -> None:
    channel.sendall(json.dumps(words).encode() + b"\n")


def _live(arguments: list[str], environment: dict[str, str], folder: str, files: list[int]) -> None:
    """Be the program; never returns."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for file, output in zip(files, _OUTPUTS, strict=True):
        os.dup2(file, output)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()  # noqa: TID251 -- the environment of the program that this process becomes
    os.environ.update(environment)  # noqa: TID251 -- as above
    sys.argv = ["ostler", *arguments]
    code = 1
    try:
        ostler()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
