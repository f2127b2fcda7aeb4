"""API keys: how one looks, what it allows, and that nobody makes a key that may more than their own.

A *key* is 256 random bits behind a prefix by which people, scanners and our redaction know it. Only its
SHA-256 is kept: a slow hash protects what can be guessed, and of 2 to the 256 keys none can; a quick one
costs a request a microsecond, and lets a key be found by its digest, which tells a clock nothing of the key.
"""

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime

from ostler.domain.errors import NotAllowed, OutsideProject, RequestInvalid
from ostler.domain.fields import FieldCode, FieldError
from ostler.domain.roles import Role

KEY_BYTES = 32
_PREFIX = "ostler_"
# who acts in the log without a made key: nobody may take such a name
RESERVED_NAMES = frozenset({"admin", "anonymous", "ostler", "recovery", "watcher", "work"})


@dataclass(frozen=True, slots=True)
class Grant:
    """What a key allows. `project` None: everything; `expires_at` None: for ever."""

    role: Role
    project: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a key."""

    key_id: str
    name: str
    grant: Grant

    def is_expired(self, now: datetime) -> bool:
        """Tell whether the key's time is over."""
        return self.grant.expires_at is not None and self.grant.expires_at <= now


def new_key(randomness: bytes) -> str:
    """Return a key, made of random bytes."""
    assert len(randomness) == KEY_BYTES
    return _PREFIX + urlsafe_b64encode(randomness).decode().rstrip("=")


def digest_of(key: str) -> bytes:
    """Return what is kept of a key."""
    return hashlib.sha256(key.encode()).digest()


def granted(name: str, asked: Grant, own: Grant, now: datetime) -> Grant:
    """Return what a new key allows that is asked for by the holder of another; raise what is too much."""
    errors = []
    if name.strip().lower() in RESERVED_NAMES:
        taken = ", ".join(sorted(RESERVED_NAMES))
        errors.append(FieldError("name", FieldCode.INVALID_KEY_NAME, f"must be none of {taken}", name))
    if asked.expires_at is not None and asked.expires_at <= now:
        past = asked.expires_at.isoformat()
        errors.append(FieldError("expiresAt", FieldCode.INVALID_EXPIRES_AT, "must lie ahead", past))
    if errors:
        raise RequestInvalid(errors)
    if not own.role.covers(asked.role):
        raise NotAllowed(own.role, asked.role)
    return Grant(asked.role, project_for(asked.project, own.project), _earlier(asked, own))


def project_for(asked: str | None, own: str | None) -> str | None:
    """Return the project that is meant by who has one, or none; raise OutsideProject for another one."""
    if own is None or asked is None or asked == own:
        return own or asked
    raise OutsideProject(asked, own)


def _earlier(asked: Grant, own: Grant) -> datetime | None:
    if asked.expires_at is None or own.expires_at is None:
        return asked.expires_at or own.expires_at
    return min(asked.expires_at, own.expires_at)
