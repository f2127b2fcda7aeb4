"""The lock that keeps a second process from the directory in which a SQLite database lies.

Two processes could both take their leases back at start and do the same work twice; and what lies beside the
database, the keys and the simulated cloud's state, is one process's, too. So the second is refused, with the
reason. The lock is the operating system's (`flock`): it dies with its process, even by `kill -9`.
"""

import fcntl
import os
from pathlib import Path
from typing import TextIO

from ostler.store.database import DirectoryInUse

_NAME = "ostler.lock"


class DirectoryLock:
    """Holds a directory from construction to `release`."""

    def __init__(self, directory: Path) -> None:
        self._file = _locked(directory)

    def release(self) -> None:
        """Let another process have it; the file stays, for removing it would race with others."""
        self._file.close()


def _locked(directory: Path) -> TextIO:
    file = (directory / _NAME).open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise DirectoryInUse(directory, holder) from error
    file.truncate(0)
    file.write(f"the process with id {os.getpid()}\n")
    file.flush()
    return file
