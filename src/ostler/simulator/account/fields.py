"""Reading a JSON object as the cloud does: named fields with limits, refused in the cloud's own words.

Absent and null are the same. Numbers are also accepted as decimal strings, since the cloud's documents and
its clients disagree about them. What is not asked for is ignored.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostler.simulator.refusal import Refusal, bad_parameter

Span = tuple[int, int]  # the least and the most that is allowed, both inclusive

ANY_LENGTH: Span = (0, 65_535)
NAME: Span = (1, 255)
ANY_NUMBER: Span = (0, 2**53)
_NUMBER_WORD = re.compile(r"-?[0-9]{1,30}")
_SHOWN_LENGTH = 40


def wrong_length(field: str, span: Span) -> Refusal:
    """Return the refusal of a text that is too short or too long."""
    return bad_parameter(
        f"invalid {field}: value length must be between {span[0]} and {span[1]} runes, inclusive"
    )


def wrong_value(field: str, span: Span, seen: object) -> Refusal:
    """Return the refusal of a number outside its range."""
    return bad_parameter(f"invalid {field}: value must be inside range [{span[0]}, {span[1]}], not {seen}")


def not_in_list(field: str, allowed: Sequence[str], seen: str) -> Refusal:
    """Return the refusal of a word that is none of a closed set."""
    return bad_parameter(f"invalid {field}: value must be in list [{' '.join(allowed)}], not {seen!r}")


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object (or a flattened query) together with the name it goes by in messages."""

    source: Mapping[str, object]
    within: str = ""

    def text(self, name: str, span: Span = ANY_LENGTH, default: str = "") -> str:
        """Return a text within its length limits."""
        value = self.source.get(name)
        if value is None:
            value = default
        if not isinstance(value, str):
            raise self._wrong_type(name, "a string")
        if not span[0] <= len(value) <= span[1]:
            raise wrong_length(self._path(name), span)
        return value

    def word(self, name: str, allowed: Sequence[str], default: str = "") -> str:
        """Return one of a closed set of words."""
        value = self.text(name, default=default)
        if value not in allowed:
            raise not_in_list(self._path(name), allowed, value)
        return value

    def number(self, name: str, span: Span = ANY_NUMBER, default: int = 0) -> int:
        """Return a whole number within its limits."""
        value = self.source.get(name)
        number = default if value is None or value == "" else self._whole(self._path(name), value)
        if not span[0] <= number <= span[1]:
            raise wrong_value(self._path(name), span, number)
        return number

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a truth value; queries write it as a word."""
        value = self.source.get(name)
        match value:
            case None | "":
                return default
            case bool():
                return value
            case "true" | "True" | "1":
                return True
            case "false" | "False" | "0":
                return False
            case _:
                raise self._wrong_type(name, "a boolean")

    def child(self, name: str) -> "Fields":
        """Return a nested object; an absent one is empty."""
        value = self.source.get(name)
        if value is None:
            return Fields({}, self._path(name))
        if not isinstance(value, Mapping):
            raise self._wrong_type(name, "an object")
        return Fields(value, self._path(name))

    def children(self, name: str, most: int = 100) -> tuple["Fields", ...]:
        """Return a list of objects."""
        found = []
        for path, item in self._items(name, most):
            if not isinstance(item, Mapping):
                raise bad_parameter(message=f"invalid {path}: value must be an object")
            found.append(Fields(item, path))
        return tuple(found)

    def texts(self, name: str, most: int = 100) -> tuple[str, ...]:
        """Return a list of texts."""
        found = []
        for path, item in self._items(name, most):
            if not isinstance(item, str):
                raise bad_parameter(message=f"invalid {path}: value must be a string")
            found.append(item)
        return tuple(found)

    def numbers(self, name: str, span: Span = ANY_NUMBER, most: int = 100) -> tuple[int, ...]:
        """Return a list of whole numbers within their limits."""
        found = []
        for path, item in self._items(name, most):
            number = self._whole(path, item)
            if not span[0] <= number <= span[1]:
                raise wrong_value(path, span, number)
            found.append(number)
        return tuple(found)

    def has(self, name: str) -> bool:
        """Tell whether the field was given at all."""
        return self.source.get(name) is not None

    def _items(self, name: str, most: int) -> Iterator[tuple[str, object]]:
        value = self.source.get(name)
        if value is None:
            return
        if not isinstance(value, list | tuple):
            raise self._wrong_type(name, "a list")
        if len(value) > most:
            raise bad_parameter(
                message=f"invalid {self._path(name)}: at most {most} item(s) are allowed, not {len(value)}"
            )
        for index, item in enumerate(value):
            yield f"{self._path(name)}[{index}]", item

    def _whole(self, name: str, value: object) -> int:
        if isinstance(value, str) and _NUMBER_WORD.fullmatch(value):
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            seen = repr(value[:_SHOWN_LENGTH]) if isinstance(value, str) else type(value).__name__
            raise bad_parameter(message=f"invalid {name}: value must be an integer, not {seen}")
        return value

    def _path(self, name: str) -> str:
        return f"{self.within}.{name}" if self.within else name

    def _wrong_type(self, name: str, wanted: str) -> Refusal:
        seen = type(self.source.get(name)).__name__
        return bad_parameter(f"invalid {self._path(name)}: value must be {wanted}, not {seen}")


def asked(query: Mapping[str, Sequence[str]]) -> Fields:
    """Return a query as fields; of a key that is repeated, the first value counts."""
    return Fields({key: values[0] for key, values in query.items() if values})


def words(values: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a list parameter, whether its key is repeated or its value joined by commas."""
    return tuple(word for value in values for word in value.split(",") if word)
