"""Redaction: takes secrets out of whatever is about to leave the process as a log entry or a span.

Three nets, because each alone has holes: names that hold secrets, shapes that secrets have, and the very
values that this process was given (registered once, at assembly).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

MASK = "***"

_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd)?$|passphrase|secret|token$|authorization|cookie|api_?key|admin_?key|signature|credential|^envs?$)"
)
_SECRET_SHAPES = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"\b(sk|whsec|ostler)_[\w+/=-]{6,}"), rf"\1_{MASK}"),
    (re.compile(r"(?i)([?&](?:token|key|password|signature)=)[^&\s\"']+"), rf"\1{MASK}"),
    (re.compile(r"(?i)(://[^/\s:@]+:)[^@\s/]+(@)"), rf"\1{MASK}\2"),
)
_SIGNS = re.compile(r"(?i)bearer|basic|(?:sk|whsec|ostler)_|[?&][a-z]+=|://")  # each shape has one of them
_LEAST_SECRET = 6  # shorter values would take innocent words out of every text


@lru_cache(maxsize=1024)
def _is_telling(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


class Redactor:
    """Masks secrets in texts and in nested data."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(
            sorted({each for each in secrets if len(each) >= _LEAST_SECRET}, key=len, reverse=True)
        )

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        if len(text) < _LEAST_SECRET:
            return text
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        if _SIGNS.search(text):  # rarely, and looking for one sign costs less than looking for each shape
            for shape, masked in _SECRET_SHAPES:
                text = shape.sub(masked, text)
        return text

    def value(self, value: object) -> object:
        """Return the value without secrets, however deep they lie."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return self.mapping(value)
            case list() | tuple() | set() | frozenset():
                return [self.value(each) for each in value]
            case bool() | int() | float() | None:
                return value
            case _:
                return self.text(str(value))

    def mapping(self, values: Mapping[object, object]) -> dict[str, object]:
        """Return the mapping with the values of telling names masked."""
        return {
            str(name): MASK if _is_telling(str(name)) else self.value(value) for name, value in values.items()
        }
