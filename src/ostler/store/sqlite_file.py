"""Which file on the disk an open SQLite database is, for SQLite writes on happily into one that was removed.

What is committed to a file without a name is gone with the process; so it is not written at all. Put back
where it was, the file is itself again.
"""

from pathlib import Path

from ostler.store.database import StoreUnavailable, Trouble

DATABASE = "the SQLite database"


class OpenFile:
    """The file that stands at a path when this is made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity = self._seen()

    def require_in_place(self) -> None:
        """Raise StoreUnavailable where the path does not lead to this file any more."""
        seen = self._seen()
        if seen is None:
            raise StoreUnavailable(DATABASE, Trouble.REMOVED)
        if seen != self._identity:
            raise StoreUnavailable(DATABASE, Trouble.REPLACED)

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino
