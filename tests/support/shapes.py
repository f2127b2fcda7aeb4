"""Comparing the *shape* of JSON: which keys there are and of which JSON types, never the values.

What is expected must be there; more may be, since the cloud's documents list fewer fields than it sends.
"""

from collections.abc import Mapping, Sequence


class ShapeDiffersError(AssertionError):
    """A value is of another JSON type than expected, or a key is missing."""

    def __init__(self, place: str, expected: str, seen: str) -> None:
        super().__init__(f"at {place or 'the top'}: expected {expected}, saw {seen}")


def json_type(value: object) -> str:
    """Return the JSON type of a value; integers and fractions are told apart, as clients do."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case Sequence():
            return "array"
        case _:
            raise ShapeDiffersError(place="", expected="JSON", seen=type(value).__name__)


def assert_same_shape(expected: object, actual: object, place: str = "") -> None:
    """Compare recursively.

    Of a list, one element must have the shape of each expected one in full; in the others, what does not
    apply may be null or empty.
    """
    _compare(expected, actual, place, may_be_void=False)


def _compare(expected: object, actual: object, place: str, *, may_be_void: bool) -> None:
    if may_be_void and (actual is None or actual == []):
        return
    if json_type(expected) != json_type(actual):
        raise ShapeDiffersError(place, json_type(expected), f"{json_type(actual)} {actual!r}")
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key, value in expected.items():
            if key not in actual:
                raise ShapeDiffersError(place, f"the key {key!r}", f"{sorted(actual)}")
            _compare(value, actual[key], f"{place}.{key}", may_be_void=may_be_void)
    elif isinstance(expected, list) and isinstance(actual, list):
        for pattern in expected:
            _compare_elements(pattern, actual, place, may_be_void=may_be_void)


def _compare_elements(pattern: object, actual: list[object], place: str, *, may_be_void: bool) -> None:
    for index, element in enumerate(actual):
        _compare(pattern, element, f"{place}[{index}]", may_be_void=True)
    if may_be_void or any(_has_shape(pattern, element) for element in actual):
        return
    if not actual:
        raise ShapeDiffersError(place, expected="at least one element", seen="an empty list")
    _compare(pattern, actual[0], f"{place}[0]", may_be_void=False)


def _has_shape(pattern: object, element: object) -> bool:
    try:
        _compare(pattern, element, place="", may_be_void=False)
    except ShapeDiffersError:
        return False
    return True
