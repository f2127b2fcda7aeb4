"""Sealing: secrets in rows are unreadable without the key of this installation.

A *sealer* turns bytes into a sealed blob and back; rows carry the blob and never know what is inside. The key
comes from `OSTLER_SECRET_KEY`, else from the file kept in the data directory. *Former keys* open what was
sealed before the key was changed, and seal nothing. Called by use cases that take secrets in (environment
values), by the jobs that need them once (the create call), and by the one that renews seals.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Protocol

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import SecretStr

_PURPOSE = b"ostler rows 1"  # another purpose gets another key from the same secret


class Sealer(Protocol):
    """Whoever can seal and open."""

    def seal(self, content: bytes) -> bytes:
        """Return the content, unreadable."""
        ...

    def open(self, sealed: bytes) -> bytes:
        """Return what was sealed; raise SealBroken when no key that is known did it."""
        ...

    def renewed(self, sealed: bytes) -> bytes | None:
        """Return a blob under the present key, or None when it is under it already; raise SealBroken."""
        ...


class SealBroken(Exception):  # noqa: N818 -- says what is so; the key decides
    """A blob was sealed with another key, or was changed since."""

    def __init__(self) -> None:
        super().__init__(
            "a stored secret cannot be opened: it was sealed with another key. Is OSTLER_SECRET_KEY (or "
            "secret.key in the data directory) the one that this database was made with? A key that was "
            "changed is still needed, in OSTLER_SECRET_KEY_PREVIOUS, until `ostler doctor` says otherwise"
        )


class FernetSealer:
    """Seals with Fernet (AES-128-CBC and HMAC-SHA256), keyed by a secret of any length."""

    def __init__(self, secret: SecretStr, former: Sequence[SecretStr] = ()) -> None:
        self._present = _fernet(secret)
        self._any = MultiFernet([self._present, *(_fernet(each) for each in former)])

    def seal(self, content: bytes) -> bytes:
        return self._present.encrypt(content)

    def open(self, sealed: bytes) -> bytes:
        try:
            return self._any.decrypt(sealed)
        except InvalidToken as error:
            raise SealBroken from error

    def renewed(self, sealed: bytes) -> bytes | None:
        try:
            self._present.decrypt(sealed)
        except InvalidToken:
            return self._present.encrypt(self.open(sealed))
        return None


def _fernet(secret: SecretStr) -> Fernet:
    digest = hashlib.blake2b(secret.get_secret_value().encode(), digest_size=32, person=_PURPOSE)
    return Fernet(base64.urlsafe_b64encode(digest.digest()))
