"""`ostler backup` and `ostler restore`: one file that has all of an installation, and the way back.

They work on the database itself, not through the API: a backup must be had when nothing else works.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ostler.assembly.archive import Manifest
from ostler.assembly.backups import back_up
from ostler.assembly.backups import restore as put_back
from ostler.cli.complaints import complain, settings_or_complaint
from ostler.cli.exits import Exit
from ostler.clock import Clock, SystemClock
from ostler.datadir import DataDirectoryError
from ostler.settings import Settings
from ostler.store.copying import NotCopied
from ostler.store.database import DirectoryInUse, SchemaTooNew, StoreUnavailable

_REFUSALS = (NotCopied, DataDirectoryError, DirectoryInUse, SchemaTooNew, StoreUnavailable, OSError)


def backup(file: Path, /) -> int:
    """Write everything that cannot be had again into one file, while Ostler runs.

    Parameters
    ----------
    file
        The archive to write, such as ostler-2026-11-19.tar.gz; it must not exist yet.
    """
    return _carried_out(back_up, file, "backed up")


def restore(file: Path, /) -> int:
    """Put a backup into an empty data directory or database; then start Ostler.

    Parameters
    ----------
    file
        The archive.
    """
    return _carried_out(put_back, file, "restored")


def _carried_out(work: Callable[[Settings, Path, Clock], Manifest], file: Path, done: str) -> int:
    settings = settings_or_complaint()
    if settings is None:
        return Exit.USAGE
    try:
        manifest = work(settings, file, SystemClock())
    except _REFUSALS as error:
        complain(f"{file} was not {done}: {error}")
        return Exit.FAILED
    except SQLAlchemyError as error:
        complain(f"{file} was not {done}: the database refused it ({type(error).__name__})")
        return Exit.FAILED
    told = f"installation {manifest.install_id}, as of {manifest.made_at:%Y-%m-%d %H:%M:%S} UTC"
    sys.stdout.write(f"{file}: {done} ({told})\n")
    return Exit.OK
