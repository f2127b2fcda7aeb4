"""Reading the vendor's JSON: one field at a time, every known form of it, and a refusal of the rest.

Numbers come as integers or strings, "never" as "0" or "-1", prices in 1/100000 USD or empty. A reader takes
an object and a key and returns our value; what it cannot read raises Unreadable, which names the field and
shows the value unless it may be a secret.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias

import orjson
from pydantic import SecretStr

from ostler.domain.money import Usd

Row: TypeAlias = Mapping[str, object]

_SECRET_KEYS = frozenset({"password", "username", "envs", "value", "imageAuth", "sshPassword"})
_LONGEST_SEEN = 80
_LONGEST_NUMBER = 15  # digits: more is no count, price or instant
_INTEGER = re.compile(r"-?\d{1,15}(?:\.0*)?", re.ASCII)
_NEVER = ("0", "-1", "")
_LAST_INSTANT = 4_102_444_800  # 2100: milliseconds, for one, are beyond it


class Unreadable(Exception):  # noqa: N818 -- becomes a Malformed or an Ambiguous, never reaches anybody
    """A field is not what it should be."""

    def __init__(self, field: str, seen: str) -> None:
        super().__init__(f"{field} is {seen}")
        self.field = field
        self.seen = seen

    def within(self, parent: str) -> "Unreadable":
        """Return the same, seen from the object around it."""
        return Unreadable(f"{parent}.{self.field}", self.seen)


def unreadable(key: str, value: object) -> Unreadable:
    """Return the refusal of a value, which is shown in short, or not at all where it may hold a secret."""
    if key in _SECRET_KEYS or isinstance(value, dict | list):
        return Unreadable(key, f"a hidden {type(value).__name__}")
    return Unreadable(key, f"{repr(value)[:_LONGEST_SEEN]} ({type(value).__name__})")


def document(body: bytes) -> object:
    """Return the JSON of a body; None when it is empty."""
    if not body.strip():
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreadable(field="body", seen=f"no JSON ({len(body)} bytes)") from error


def as_row(value: object, key: str) -> Row:
    """Return a value that must be an object."""
    if isinstance(value, dict):
        return value
    raise unreadable(key, value)


def rows(parent: Row, key: str) -> list[object]:
    """Return a list; missing and null mean that it is empty."""
    value = parent.get(key)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise unreadable(key, value)


def inner(parent: Row, key: str) -> Row:
    """Return an object within; missing and null mean that it has no fields."""
    value = parent.get(key)
    return {} if value is None else as_row(value, key)


def text(row: Row, key: str) -> str:
    """Return a string; missing and null mean that it is empty, and ids may be bare numbers."""
    value = row.get(key)
    if type(value) is str:
        return value
    if value is None:
        return ""
    if type(value) is int:
        return str(value)
    raise unreadable(key, value)


def needed_text(row: Row, key: str) -> str:
    """Return a string that must be there."""
    value = text(row, key)
    if not value:
        raise unreadable(key, row.get(key))
    return value


def secret(row: Row, key: str) -> SecretStr:
    """Return a string that nobody may see by accident."""
    return SecretStr(text(row, key))


def number(row: Row, key: str) -> int | None:
    """Return an integer, also one written as a string; None when it is missing or empty."""
    value = row.get(key)
    if type(value) is int:
        return value
    if value is None or value == "":
        return None
    if type(value) is str:
        if value.isdigit() and value.isascii() and len(value) <= _LONGEST_NUMBER:
            return int(value)
        if _INTEGER.fullmatch(value):
            return int(value.partition(".")[0])
    if type(value) is float and value.is_integer() and abs(value) < 10**_LONGEST_NUMBER:
        return int(value)
    raise unreadable(key, value)


def count(row: Row, key: str) -> int:
    """Return how many: an integer from 0 on; 0 when it is missing."""
    value = number(row, key)
    if value is None:
        return 0
    if value < 0:
        raise unreadable(key, row.get(key))
    return value


def share(row: Row, key: str) -> float:
    """Return a percentage, also one written as a string."""
    value = row.get(key)
    try:
        percent = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        percent = None
    if percent is None or not -1 < percent < 1000:  # noqa: PLR2004 -- sanity, with room for rounding and NaN
        raise unreadable(key, value)
    return percent


def flag(row: Row, key: str, *, default: bool) -> bool:
    """Return a truth value."""
    value = row.get(key)
    if isinstance(value, bool):
        return value
    if value is None:
        return default
    raise unreadable(key, value)


def instant(row: Row, key: str) -> datetime | None:
    """Return an instant given in unix seconds; "0", "-1", empty and missing all mean never."""
    value = row.get(key)
    if value is None or value in _NEVER:  # by far the most frequent: a pass reads six for each instance
        return None
    seconds = number(row, key)
    if seconds is None or seconds <= 0:
        return None
    if seconds > _LAST_INSTANT:
        raise unreadable(key, value)
    return datetime.fromtimestamp(seconds, UTC)


def price(row: Row, key: str) -> Usd | None:
    """Return an amount in 1/100000 USD; None when the cloud names none."""
    amount = number(row, key)
    if amount is None:
        return None
    if amount < 0:
        raise unreadable(key, row.get(key))
    return _usd(amount)


def debt_or_credit(row: Row, key: str, units: int) -> Usd:
    """Return an amount in so many 1/100000 USD, which may be negative; none when it is missing."""
    return Usd((number(row, key) or 0) * units)


@lru_cache(maxsize=1024)
def _usd(units: int) -> Usd:
    """Return an amount; a fleet has few prices and many instances."""
    return Usd(units)
