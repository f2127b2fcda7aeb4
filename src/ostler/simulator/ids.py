"""Identifiers as the cloud makes them: each kind of thing has its own length and alphabet.

Drawn from the world's seeded random source, so that a test which makes the same world twice sees the same
ids.
"""

import random
import string

_LOWER = string.ascii_lowercase + string.digits
_FORMATS = {
    "instance": ("0123456789abcdef", 16),
    "endpoint": ("0123456789abcdef", 16),
    "job": (_LOWER, 16),
    "registry": (_LOWER, 32),
    "template": (string.digits[1:], 6),  # a decimal number, as a string
    "password": (string.ascii_letters + string.digits, 20),
}
_OTHERWISE = (_LOWER, 16)


def draw_id(source: random.Random, kind: str) -> str:
    """Return a fresh identifier in the format of its kind."""
    alphabet, length = _FORMATS.get(kind, _OTHERWISE)
    return "".join(source.choices(alphabet, k=length))
