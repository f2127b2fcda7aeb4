"""The lock that keeps a second process from the same SQLite database.

Two processes could both take their leases back at start and do the same work twice; so the second is
refused, with the reason. The lock is the operating system's (`flock`): it dies with its process, even by
`kill -9`.
"""

import fcntl
import os
from pathlib import Path
from typing import TextIO

from ostler.store.database import DirectoryInUse


class DirectoryLock:
    """Holds `<database>.lock` from construction to `release`."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}.lock")
        self._file = _locked(self._path, database)

    def release(self) -> None:
        """Let another process have the database; the file stays, for removing it would race with others."""
        self._file.close()


def _locked(path: Path, database: Path) -> TextIO:
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise DirectoryInUse(database, holder) from error
    file.truncate(0)
    file.write(f"the process with id {os.getpid()}\n")
    file.flush()
    return file
