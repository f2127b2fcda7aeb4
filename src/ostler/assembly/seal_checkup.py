"""The part of the check-up that is about stored secrets: do the keys open them, and which key is done with.

It opens every seal there is, so it tells the truth whatever a running server has done so far.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from ostler.assembly.core import database_url
from ostler.assembly.findings import Finding, Verdict
from ostler.assembly.seals import FORMER_KEYS_FILE, SECRET_KEY_FILE, former_keys, secret_key
from ostler.clock import Clock
from ostler.datadir import DataDirectory, DataDirectoryError
from ostler.settings import Settings
from ostler.store.database import DatabaseConfig, StoreUnavailable
from ostler.store.peeking import peeked
from ostler.store.sealed_places import SealedBlob, all_blobs
from ostler.store.sealing import FernetSealer, SealBroken, Sealer

_WHAT = "stored secrets"


@dataclass(slots=True)
class _Count:
    present: int = 0
    former: int = 0
    unreadable: int = 0

    @property
    def total(self) -> int:
        return self.present + self.former + self.unreadable


def seals(settings: Settings, clock: Clock) -> Finding:
    """Tell how the stored secrets are sealed."""
    directory = DataDirectory(settings.directory)
    try:
        former = former_keys(settings, directory)
        sealer = _sealer(settings, directory, former)
        with peeked(DatabaseConfig(database_url(settings, directory)), clock) as connection:
            count = _counted(all_blobs(connection) if connection else (), sealer)
    except (StoreUnavailable, DataDirectoryError) as error:
        return Finding(_WHAT, Verdict.WARNING, f"not looked at: {error}")
    return _judged(count, _places_of_former_keys(settings, directory) if former else [])


def _sealer(settings: Settings, directory: DataDirectory, former: Sequence[SecretStr]) -> Sealer | None:
    given = settings.secret_key is not None or directory.existing_secret(SECRET_KEY_FILE) is not None
    return FernetSealer(secret_key(settings, directory), former) if given else None  # none is made here


def _counted(blobs: Iterable[SealedBlob], sealer: Sealer | None) -> _Count:
    count = _Count()
    for blob in blobs:
        try:
            if sealer is None:
                count.unreadable += 1
            elif sealer.renewed(blob.sealed) is None:
                count.present += 1
            else:
                count.former += 1
        except SealBroken:
            count.unreadable += 1
    return count


def _judged(count: _Count, former_places: Sequence[str]) -> Finding:
    if count.unreadable:
        detail = f"{count.unreadable} of {count.total} open with none of the keys given"
        hint = "give the key that sealed them, in OSTLER_SECRET_KEY_PREVIOUS if it was changed since"
        return Finding(_WHAT, Verdict.FAILED, detail, hint)
    if count.former:
        detail = f"{count.former} of {count.total} are still under a former key"
        hint = f"keep {' and '.join(former_places)}: a server that is started with it renews them"
        return Finding(_WHAT, Verdict.WARNING, detail, hint)
    hint = f"{' and '.join(former_places)}: no longer needed, take away" if former_places else ""
    return Finding(_WHAT, Verdict.OK, f"{count.total}, all under the present key", hint)


def _places_of_former_keys(settings: Settings, directory: DataDirectory) -> list[str]:
    files = [FORMER_KEYS_FILE] if settings.secret_key is None else [FORMER_KEYS_FILE, SECRET_KEY_FILE]
    found = [str(directory.path / name) for name in files if directory.existing_secret(name)]
    return found if settings.former_secret_keys is None else ["OSTLER_SECRET_KEY_PREVIOUS", *found]
