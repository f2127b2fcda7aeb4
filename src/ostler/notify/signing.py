"""Signing webhooks: the Standard Webhooks headers, and beside them those of the earlier service.

A *secret* is a text. With `whsec_` in front the rest is the key in base64; without, the text's own bytes
are the key. The earlier service's signature is over the body alone, keyed by the secret's text as it is
written, because that is what its receivers were configured with.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr
from standardwebhooks import Webhook

PREFIX = "whsec_"
SHORTEST_KEY = 24  # bytes; the specification's limits
LONGEST_KEY = 64
_MADE_KEY = 32


class UnusableSecret(Exception):  # noqa: N818 -- the operator erred; Ostler did not
    """A secret cannot sign; the message never repeats it."""


def new_secret() -> SecretStr:
    """Return a secret of full strength."""
    return SecretStr(PREFIX + base64.b64encode(secrets.token_bytes(_MADE_KEY)).decode())


def signing_key(secret: SecretStr) -> bytes:
    """Return the key that a secret stands for, or raise UnusableSecret."""
    text = secret.get_secret_value()
    if not text.startswith(PREFIX):
        key = text.encode()
    else:
        try:
            encoded = text.removeprefix(PREFIX).rstrip("=")
            key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except (binascii.Error, ValueError) as error:
            message = f"what follows {PREFIX} must be base64"
            raise UnusableSecret(message) from error
    if not key:
        message = "must not be empty"
        raise UnusableSecret(message)
    return key


def weakness_of(secret: SecretStr) -> str | None:
    """Return what is wrong with the strength of a secret that can sign, or None."""
    size = len(signing_key(secret))
    if size < SHORTEST_KEY:
        return f"has {size} bytes: easily guessed, Standard Webhooks asks for {SHORTEST_KEY} at least"
    if size > LONGEST_KEY and is_encoded(secret):
        return f"has {size} bytes: Standard Webhooks allows {LONGEST_KEY} at most"
    return None


def is_encoded(secret: SecretStr) -> bool:
    """Tell whether a secret is in the form of Standard Webhooks, and so has to keep its limits."""
    return secret.get_secret_value().startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class Message:
    """One webhook as it goes out: the id stays the same over retries and replays."""

    id: str
    event: str
    body: bytes


def signed_headers(message: Message, secret: SecretStr, at: datetime) -> Mapping[str, str]:
    """Return the headers that let the receiver check where the body comes from and how old it is."""
    key = signing_key(secret)
    written = secret.get_secret_value().encode()
    return {
        "Content-Type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(key).sign(message.id, at, message.body.decode()),
        "X-Webhook-Signature": f"sha256={hmac.new(written, message.body, hashlib.sha256).hexdigest()}",
        "X-Webhook-Timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "X-Webhook-Event": message.event,
    }
