"""The data directory: where an installation keeps what must outlive the process.

Holds the database, the simulated cloud's state, and the secrets that were made because none was given:
`admin.key` and `secret.key`, readable by the owner alone. Server and CLI find the same key here.
"""

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

_OWNER_ONLY_DIRECTORY = 0o700
_OWNER_ONLY_FILE = 0o600


class DataDirectoryError(Exception):
    """The data directory cannot be used; the message says why and what to do."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot use the data directory {path}: {reason}; set OSTLER_DATA_DIR to another one"
        )


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """A directory of ours, made when it is first used."""

    path: Path

    def prepared(self) -> "DataDirectory":
        """Return this directory, existing and writable."""
        try:
            self.path.mkdir(mode=_OWNER_ONLY_DIRECTORY, parents=True, exist_ok=True)
        except OSError as error:
            raise DataDirectoryError(self.path, error.strerror or "unknown error") from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise DataDirectoryError(self.path, "it is not writable")
        return self

    def foreseen(self) -> Path:
        """Return what exists of its path; make nothing, but raise what `prepared` would."""
        try:
            nearest = next(each for each in (self.path, *self.path.absolute().parents) if each.exists())
        except OSError as error:
            raise DataDirectoryError(self.path, error.strerror or "unknown error") from error
        if not nearest.is_dir():
            raise DataDirectoryError(self.path, f"{nearest} is no directory")
        if not os.access(nearest, os.W_OK | os.X_OK):
            what = "it" if nearest == self.path else str(nearest)
            raise DataDirectoryError(self.path, f"{what} is not writable")
        return nearest

    def secret(self, name: str, prefix: str) -> str:
        """Return the secret kept under this name; the first call makes it."""
        found = self.existing_secret(name)
        if found is not None:
            return found
        made = f"{prefix}_{secrets.token_urlsafe(32)}"
        try:
            self._write_once(name, made)
        except OSError as error:
            raise DataDirectoryError(self.path, error.strerror or "unknown error") from error
        # another process may have been first: what stands in the file counts
        found = self.existing_secret(name)
        if found is None:  # an empty file: a key that is kept nowhere would open nothing after a restart
            raise self._without_key(name)
        return found

    def keep_secret(self, name: str, text: str) -> None:
        """Keep a secret that was made elsewhere, unless one is kept already."""
        try:
            self._write_once(name, text)
        except OSError as error:
            raise DataDirectoryError(self.path, error.strerror or "unknown error") from error

    def existing_secret(self, name: str) -> str | None:
        """Return the secret kept under this name, if there is one."""
        try:
            found = (self.path / name).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataDirectoryError(self.path, f"{name}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise self._without_key(name) from error
        return found or None

    def _without_key(self, name: str) -> DataDirectoryError:
        reason = f"{name} holds no key; put the file back, or remove it to have a new key made"
        return DataDirectoryError(self.path, reason)

    def _write_once(self, name: str, text: str) -> None:
        # written aside and linked: the name appears with its whole content or not at all
        draft = self.path / f".{name}.{secrets.token_hex(4)}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY_FILE)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, self.path / name)
        finally:
            draft.unlink()
