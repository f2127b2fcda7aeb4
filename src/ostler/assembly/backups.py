"""Backups: one archive that has all of an installation that cannot be had again.

It holds the rows (with the install id, which marks our instances at the cloud), the keys that seal secrets
in rows, and the administrator's key where Ostler made it. It is taken while Ostler runs. What the cloud has
is not in it: after a restore the watcher finds what came since.
"""

import os
import tempfile
from pathlib import Path

from ostler import __version__
from ostler.assembly.archive import Contents, Manifest, pack, unpack
from ostler.assembly.core import database_url
from ostler.assembly.entering import ADMIN_KEY_FILE
from ostler.assembly.seals import FORMER_KEYS_FILE, SECRET_KEY_FILE, former_keys, secret_key
from ostler.clock import Clock
from ostler.datadir import DataDirectory
from ostler.settings import Settings
from ostler.store.copying import (
    NotCopied,
    copy_from_postgres,
    copy_into_postgres,
    copy_sqlite,
    install_id_in,
    require_empty,
)
from ostler.store.database import DatabaseConfig
from ostler.store.directory_lock import DirectoryLock


def back_up(settings: Settings, target: Path, clock: Clock) -> Manifest:
    """Write an archive; the file appears whole or not at all. Raise NotCopied."""
    if target.exists():
        message = f"{target} exists: a backup never overwrites another"
        raise NotCopied(message)
    directory, where = DataDirectory(settings.directory), _Where(settings)
    with _room_beside(target) as folder:
        rows, archive = Path(folder, "rows.db"), Path(folder, "archive")
        where.copy_to(rows, clock)
        install_id = install_id_in(rows, clock)
        if install_id is None:
            message = "there is nothing to back up: Ostler has never run on this database"
            raise NotCopied(message)
        keys = {SECRET_KEY_FILE: secret_key(settings, directory).get_secret_value()}
        former = former_keys(settings, directory)
        if former:  # some rows may still be under them
            keys[FORMER_KEYS_FILE] = "\n".join(each.get_secret_value() for each in former)
        made_here = directory.existing_secret(ADMIN_KEY_FILE)
        if settings.admin_key is None and made_here is not None:
            keys[ADMIN_KEY_FILE] = made_here
        manifest = Manifest(install_id, __version__, clock.now())
        pack(archive, rows, Contents(manifest, keys))
        os.link(archive, target)  # unlike a rename, this refuses to replace what has appeared meanwhile
    return manifest


def restore(settings: Settings, source: Path, clock: Clock) -> Manifest:
    """Put an archive where there is no database yet; raise NotCopied."""
    directory, where = DataDirectory(settings.directory).prepared(), _Where(settings)
    where.require_empty()
    with tempfile.TemporaryDirectory(prefix=".ostler-", dir=where.folder) as folder:
        rows = Path(folder, "rows.db")
        contents = unpack(source, rows, (SECRET_KEY_FILE, FORMER_KEYS_FILE, ADMIN_KEY_FILE))
        install_id_in(rows, clock)
        _keep_keys(settings, directory, contents)  # before the rows: what they seal needs them
        where.place(rows, clock)
    return contents.manifest


def _room_beside(target: Path) -> tempfile.TemporaryDirectory[str]:
    """Make a folder on the archive's disk for what is not whole yet."""
    parent = target.absolute().parent
    try:
        return tempfile.TemporaryDirectory(prefix=".ostler-", dir=parent)
    except OSError as error:  # it names a folder that nobody has asked for
        message = f"the directory {parent} cannot be written to: {error.strerror}"
        raise NotCopied(message) from error


class _Where:
    """Where the rows of these settings are."""

    def __init__(self, settings: Settings) -> None:
        directory = DataDirectory(settings.directory)
        self._config = DatabaseConfig(database_url(settings, directory))
        self._is_postgres = self._config.parsed_url.get_backend_name() == "postgresql"
        self._file = Path(self._config.parsed_url.database or "").absolute()
        self.folder = directory.path if self._is_postgres else self._file.parent

    def copy_to(self, target: Path, clock: Clock) -> None:
        """Copy the rows as they are now."""
        if self._is_postgres:
            copy_from_postgres(self._config, target, clock)
        elif self._file.is_file():
            copy_sqlite(self._file, target)
        else:
            message = f"there is no database at {self._file}: check OSTLER_DATA_DIR and OSTLER_DATABASE_URL"
            raise NotCopied(message)

    def require_empty(self) -> None:
        """Raise NotCopied where there are rows already."""
        if self._is_postgres:
            require_empty(self._config)
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in (self._file, self._file.with_name(f"{self._file.name}-wal")):
            if each.exists():
                message = f"{each} exists: a restore never overwrites a database; move it away first"
                raise NotCopied(message)

    def place(self, rows: Path, clock: Clock) -> None:
        """Put rows there, at once or not at all."""
        if self._is_postgres:
            copy_into_postgres(rows, self._config, clock)
            return
        lock = DirectoryLock(self.folder)
        try:
            self.require_empty()
            rows.rename(self._file)
        finally:
            lock.release()


def _keep_keys(settings: Settings, directory: DataDirectory, contents: Contents) -> None:
    sealing = contents.keys[SECRET_KEY_FILE]
    given = settings.secret_key.get_secret_value() if settings.secret_key else None
    present = given or directory.existing_secret(SECRET_KEY_FILE)
    former = [each.get_secret_value() for each in former_keys(settings, directory)]
    if present is not None and sealing not in {present, *former}:
        name = "OSTLER_SECRET_KEY" if given else str(directory.path / SECRET_KEY_FILE)
        message = f"{name} is not the key of this backup, whose secrets could not be read: take it away first"
        raise NotCopied(message)
    if given is None:
        directory.keep_secret(SECRET_KEY_FILE, sealing)
    if FORMER_KEYS_FILE in contents.keys:
        directory.keep_secret(FORMER_KEYS_FILE, contents.keys[FORMER_KEYS_FILE])
    if settings.admin_key is None and ADMIN_KEY_FILE in contents.keys:
        directory.keep_secret(ADMIN_KEY_FILE, contents.keys[ADMIN_KEY_FILE])
