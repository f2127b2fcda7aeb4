"""Reading the fields of a request, whole: every wrong field is collected, none is read twice.

A request is a plain mapping parsed from JSON; `null` counts as absent. Which fields a request has is said
by `requests.py` and `health_requests.py`. Values that may be secret are never repeated in an error.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TypeGuard, TypeVar

from ostler.domain.money import UNITS_PER_USD, Usd

_Choice = TypeVar("_Choice", bound=StrEnum)
_LONGEST_SHOWN = 200
_LONGEST_READ = 4_096  # of a text that is to be shown: a webhook's URL is shorter
_MOST_WHOLE = 2**63  # the largest number that every reader of JSON reads; larger ones are told as text
_MOST_UNKNOWN = 50  # told one by one: more than any honest request has
_LONGEST_HINTED = 64
_MAX_USD = 1_000_000
_SECRET_NAME = re.compile(r"env|pass|secret|token|key|auth|cred", re.IGNORECASE)
_USER_IN_URL = re.compile(r"//[^/?#]*@")


class FieldCode(StrEnum):
    """What is wrong with a field, for programs."""

    INVALID_INSTANCE_NAME = "INVALID_INSTANCE_NAME"
    INVALID_PRODUCT_NAME = "INVALID_PRODUCT_NAME"
    INVALID_TEMPLATE_ID = "INVALID_TEMPLATE_ID"
    INVALID_GPU_NUM = "INVALID_GPU_NUM"
    INVALID_ROOTFS_SIZE = "INVALID_ROOTFS_SIZE"
    INVALID_WEBHOOK_URL = "INVALID_WEBHOOK_URL"
    INVALID_REGION = "INVALID_REGION"
    INVALID_BILLING_MODE = "INVALID_BILLING_MODE"
    INVALID_MONTHS = "INVALID_MONTHS"
    PREPAID_NOT_CONFIRMED = "PREPAID_NOT_CONFIRMED"
    INVALID_PRICE_CAP = "INVALID_PRICE_CAP"
    INVALID_LIMIT = "INVALID_LIMIT"  # ttlSeconds, maxCost, onLimit, idleStopMinutes
    INVALID_POLICY = "INVALID_POLICY"  # onFailure, onReclaim
    INVALID_HEALTH_CHECK = "INVALID_HEALTH_CHECK"
    INVALID_TIMEOUT = "INVALID_TIMEOUT"  # startupTimeoutSeconds, giveUpAfterSeconds
    INVALID_ENVS = "INVALID_ENVS"
    INVALID_PROJECT = "INVALID_PROJECT"
    INVALID_LABELS = "INVALID_LABELS"
    INVALID_KEY_NAME = "INVALID_KEY_NAME"
    INVALID_EXPIRES_AT = "INVALID_EXPIRES_AT"
    INVALID_FLAG = "INVALID_FLAG"
    INVALID_BODY = "INVALID_BODY"
    UNKNOWN_FIELD = "UNKNOWN_FIELD"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that cannot be used as it is, the value seen, and what is allowed."""

    field: str
    code: FieldCode
    message: str
    value: object = None


@dataclass(frozen=True, slots=True)
class Between:
    """The limits of a whole number, both allowed."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The form of a text, and how to say it."""

    form: re.Pattern[str]
    allowed: str

    def __str__(self) -> str:
        return self.allowed


class Fields:
    """One JSON object being read. What is absent or wrong is read as None, or as its default."""

    def __init__(self, body: Mapping[str, object], prefix: str = "") -> None:
        self._body = body
        self._prefix = prefix
        self.errors: list[FieldError] = []

    def raw(self, name: str) -> object:
        """Return a field as it came."""
        return self._body.get(name)

    def wrong(self, name: str, code: FieldCode, message: str, *, is_secret: bool = False) -> None:
        """Note that a field cannot be used."""
        value = None if is_secret else shown(self._body.get(name))
        self.errors.append(FieldError(self._prefix + name, code, message, value))

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Note every field that is not known, with the nearest one that is."""
        names = sorted(known)
        unknown = [name for name in self._body if name not in names]
        for name in unknown[:_MOST_UNKNOWN]:
            message = f"is not a known field{_hint(name, names)}"
            self.wrong(name, FieldCode.UNKNOWN_FIELD, message, is_secret=may_be_secret(name))
        if len(unknown) > _MOST_UNKNOWN:
            message = f"has {len(unknown) - _MOST_UNKNOWN} more fields that are not known"
            self.errors.append(FieldError(self._prefix, FieldCode.UNKNOWN_FIELD, message))

    def whole(self, name: str, code: FieldCode, limits: Between) -> int | None:
        """Read a whole number."""
        value = self.raw(name)
        if value is None:
            return None
        number = whole_number(value)
        if number is not None and limits.least <= number <= limits.most:
            return number
        self.wrong(name, code, f"must be {limits}")
        return None

    def text(self, name: str, code: FieldCode, pattern: Pattern) -> str | None:
        """Read a text of a form."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, str) and pattern.form.fullmatch(value):
            return value
        self.wrong(name, code, f"must be {pattern}")
        return None

    def required_text(self, name: str, code: FieldCode, pattern: Pattern) -> str:
        """Read a text that has to be there; a wrong one is returned as empty."""
        if self.raw(name) is None:
            self.wrong(name, code, f"is required: {pattern}")
            return ""
        return self.text(name, code, pattern) or ""

    def flag(self, name: str) -> bool:
        """Read a yes or no; absent is no."""
        value = self.raw(name)
        if value is None or isinstance(value, bool):
            return value is True
        self.wrong(name, FieldCode.INVALID_FLAG, "must be true or false")
        return False

    def choice(self, name: str, code: FieldCode, kind: type[_Choice]) -> _Choice | None:
        """Read one word of a closed set."""
        value = self.raw(name)
        words = [member.value for member in kind]
        if value is None:
            return None
        if isinstance(value, str) and value in words:
            return kind(value)
        self.wrong(name, code, f"must be one of {', '.join(words)}")
        return None

    def usd(self, name: str, code: FieldCode) -> Usd | None:
        """Read a limit in dollars, above zero; what is finer than is counted is cut off."""
        value = self.raw(name)
        if value is None:
            return None
        amount = _amount(value)
        if amount is None:
            least = Usd(1).amount
            self.wrong(name, code, f"must be an amount in USD from {least:f} to {_MAX_USD}")
        return amount

    def nested(self, name: str, code: FieldCode, read: Callable[["Fields"], None]) -> bool:
        """Read an object inside this one; its errors are named `outer.inner`. Tell whether it was one."""
        value = self.raw(name)
        if not is_object(value):
            self.wrong(name, code, "must be an object")
            return False
        inner = Fields(value, f"{self._prefix}{name}.")
        read(inner)
        self.errors += inner.errors
        return True


def whole_number(value: object) -> int | None:
    """Return the whole number that a JSON value is, 2.0 as 2; true and false are none."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def shown(value: object) -> object:
    """Return a value as it may be repeated: cut, without what a URL says of its user, objects by kind."""
    match value:
        case None | bool():
            return value
        case int() | float():
            return value if math.isfinite(value) and abs(value) < _MOST_WHOLE else cut(str(value))
        case str():
            return cut(_USER_IN_URL.sub("//…@", value[:_LONGEST_READ]))
        case _:
            return "an object" if isinstance(value, Mapping) else "a list"


def cut(text: str) -> str:
    """Return a text as it may be repeated: its beginning, and what is no character as an escape."""
    beginning = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return beginning.encode("utf-8", "backslashreplace").decode()


def may_be_secret(name: str) -> bool:
    """Tell whether a field of this name may hold what nobody else is to read."""
    return _SECRET_NAME.search(name) is not None


def _hint(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1) if len(name) <= _LONGEST_HINTED else []
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if names else "; none are known here"


def _amount(value: object) -> Usd | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    dollars = Decimal(str(value))
    if not dollars.is_finite() or not 0 < dollars <= _MAX_USD:
        return None
    amount = Usd(int(dollars * UNITS_PER_USD))
    return amount if amount.units else None
