"""The archive that a backup is: one compressed tar of the rows, the keys, and what it says of itself.

Readable by its owner alone, for the keys are in it. Nothing of it but these members is ever read, and none
is unpacked under a name of its own.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ostler.store.copying import NotCopied

FORMAT = 1
_ROWS = "rows.db"
_MANIFEST = "manifest.json"
_LONGEST_TEXT = 64 * 1024
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself."""

    install_id: str
    version: str  # of the Ostler that made it
    made_at: datetime
    format: int = FORMAT


_MANIFESTS = TypeAdapter(Manifest)


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive holds; the rows lie in a file of their own."""

    manifest: Manifest
    keys: Mapping[str, str]


def pack(target: Path, rows: Path, contents: Contents) -> None:
    """Write an archive that is on the disk when this returns."""
    texts = {name: key.encode() for name, key in contents.keys.items()}
    texts[_MANIFEST] = _MANIFESTS.dump_json(contents.manifest)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
            for name, text in texts.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(text), _OWNER_ONLY
                tar.addfile(member, io.BytesIO(text))
            tar.add(rows, _ROWS)
        file.flush()
        os.fsync(file.fileno())


def unpack(source: Path, rows: Path, wanted_keys: tuple[str, ...]) -> Contents:
    """Read an archive, and lay its rows down in a file; raise NotCopied when it is none."""
    try:
        with tarfile.open(source, "r:gz") as tar:
            manifest = _MANIFESTS.validate_json(_text(tar, _MANIFEST))
            names = set(tar.getnames())
            keys = {name: _text(tar, name).strip() for name in wanted_keys if name in names}
            with _member(tar, _ROWS) as inside, rows.open("xb") as file:
                shutil.copyfileobj(inside, file)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        message = f"{source} cannot be read: {error.strerror or error}"
        raise NotCopied(message) from error
    except (tarfile.TarError, EOFError, KeyError, ValidationError, UnicodeDecodeError) as error:
        message = f"{source} is no backup of Ostler, or is damaged"
        raise NotCopied(message) from error
    if manifest.format > FORMAT:
        message = (
            f"{source} was made by Ostler {manifest.version}: restore it with that version or a newer one"
        )
        raise NotCopied(message)
    return Contents(manifest, keys)


def _text(tar: tarfile.TarFile, name: str) -> str:
    with _member(tar, name) as file:
        return file.read(_LONGEST_TEXT).decode()


def _member(tar: tarfile.TarFile, name: str) -> io.BufferedReader:
    file = tar.extractfile(name)
    if file is None:
        raise KeyError(name)
    assert isinstance(file, io.BufferedReader)
    return file
