"""Which keys seal and open the secrets in rows, and whether they fit what the database holds.

The *present key* is `OSTLER_SECRET_KEY`, else the one in `secret.key`. *Former keys* only open: those of
`OSTLER_SECRET_KEY_PREVIOUS`, of `secret.previous` (which a restore lays down), and `secret.key` itself once
another key is given. Nothing is checked at its first use that can be checked at start.
"""

from collections.abc import Iterator

from pydantic import SecretStr

from ostler.datadir import DataDirectory
from ostler.settings import Settings
from ostler.store.database import Database
from ostler.store.sealed_places import find_keystone
from ostler.store.sealing import FernetSealer, Sealer

SECRET_KEY_FILE = "secret.key"  # noqa: S105 -- the name of a file
FORMER_KEYS_FILE = "secret.previous"


def secret_key(settings: Settings, directory: DataDirectory) -> SecretStr:
    """Return the key that seals secrets in rows; the first call makes it where none is given."""
    if settings.secret_key is not None:
        return settings.secret_key
    return SecretStr(directory.secret(SECRET_KEY_FILE, "ostler"))


def former_keys(settings: Settings, directory: DataDirectory) -> list[SecretStr]:
    """Return the keys that may have sealed before the present one."""
    present = settings.secret_key.get_secret_value() if settings.secret_key else None
    candidates = dict.fromkeys(_candidates(settings, directory, is_given=present is not None))
    return [SecretStr(each) for each in candidates if each and each != present]


def sealer_of(settings: Settings, directory: DataDirectory) -> Sealer:
    """Return what seals with the present key and opens with all."""
    return FernetSealer(secret_key(settings, directory), former_keys(settings, directory))


async def require_fitting_keys(sealer: Sealer, database: Database) -> None:
    """Raise SealBroken when this installation was made with a key that was not given."""
    keystone = await database.read(find_keystone)
    if keystone is not None:
        sealer.open(keystone)


def _candidates(settings: Settings, directory: DataDirectory, *, is_given: bool) -> Iterator[str]:
    if settings.former_secret_keys is not None:
        listed = settings.former_secret_keys.get_secret_value()
        yield from (each.strip() for each in listed.split(","))
        yield listed  # one key, with a comma in it
    yield from (directory.existing_secret(FORMER_KEYS_FILE) or "").splitlines()
    if is_given:
        yield directory.existing_secret(SECRET_KEY_FILE) or ""
