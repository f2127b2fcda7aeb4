"""A *mark*: the end of an upstream's name, `<name>--os-<install>-<instance>-<attempt>`: whose it is.

The cloud has no idempotency keys, so the name is how a create is found again. Marks are lowercase base32
(`2`–`7`, `a`–`z`, in this order, so that ids sort by age), are read from the end of the name only, and are
compared exactly, because the cloud's own filter is fuzzy. Randomness and time come in as values.
"""

import re
from dataclasses import dataclass
from datetime import datetime

DIGITS = "234567abcdefghijklmnopqrstuvwxyz"
MAX_UPSTREAM_NAME = 255
INSTALL_ID_BYTES = 5
INSTANCE_ID_BYTES = 10
_INSTALL_LENGTH = 8
_TIME_LENGTH = 10  # 50 bits of milliseconds: until the year 37 000
_RANDOM_LENGTH = 16  # 80 bits
ID_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH  # of an instance
_MARK = re.compile(
    r"--os-(?P<install>[2-7a-z]{1,32})-(?P<instance>[2-7a-z]{1,32})-(?P<attempt>[2-7a-z]{1,8})\Z"
)
_INSTALL = re.compile(r"[2-7a-z]{4,32}\Z")


@dataclass(frozen=True, slots=True)
class Mark:
    """Which attempt of which instance of which installation made an upstream."""

    install_id: str
    instance_id: str
    attempt: int

    def __str__(self) -> str:
        return f"--os-{self.install_id}-{self.instance_id}-{_encoded(self.attempt, 1)}"


class EntropyError(Exception):
    """An id was to be made from the wrong number of random bytes: a mistake of ours."""

    def __init__(self, wanted: int, seen: int) -> None:
        super().__init__(f"an id needs {wanted} random bytes, not {seen}")


def new_install_id(entropy: bytes) -> str:
    """Return the id of an installation, from five random bytes."""
    return _encoded(_number(entropy, INSTALL_ID_BYTES), _INSTALL_LENGTH)


def new_instance_id(at: datetime, entropy: bytes) -> str:
    """Return an instance's id: 26 characters, url-safe, sorting by the millisecond that it was made in."""
    random = _encoded(_number(entropy, INSTANCE_ID_BYTES), _RANDOM_LENGTH)
    return _encoded(int(at.timestamp() * 1000), _TIME_LENGTH) + random


def is_instance_id(word: str) -> bool:
    """Tell whether a word has the form of an instance's id."""
    return len(word) == ID_LENGTH and set(word) <= set(DIGITS)


def is_install_id(word: str) -> bool:
    """Tell whether a word may be the id of an installation."""
    return _INSTALL.match(word) is not None


def marked_name(name: str, mark: Mark) -> str:
    """Return the name under which an upstream is created; a name that is too long loses its end."""
    tail = str(mark)
    return name.replace("_", "-")[: MAX_UPSTREAM_NAME - len(tail)] + tail


def parse_mark(upstream_name: str) -> Mark | None:
    """Read the mark at the end of an upstream's name, of whichever installation; None: there is none."""
    found = _MARK.search(upstream_name)
    if found is None:
        return None
    attempt = _decoded(found["attempt"])
    is_written_so = _encoded(attempt, 1) == found["attempt"]
    return Mark(found["install"], found["instance"], attempt) if is_written_so else None


def unmarked_name(upstream_name: str) -> str:
    """Return an upstream's name without its mark: what its owner called it."""
    return _MARK.sub("", upstream_name)


def _number(entropy: bytes, length: int) -> int:
    if len(entropy) != length:
        raise EntropyError(length, len(entropy))
    return int.from_bytes(entropy)


def _encoded(number: int, width: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(DIGITS))
        digits = DIGITS[digit] + digits
    return digits.rjust(width, DIGITS[0])


def _decoded(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * len(DIGITS) + DIGITS.index(digit)
    return number
