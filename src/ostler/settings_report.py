"""How settings are told to people: what a variable allows, and all that was wrong with the ones given.

A secret's value is never repeated. Used by settings.py at start and by the generated table in the docs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from dotenv.parser import parse_stream
from pydantic import AnyHttpUrl, SecretStr, ValidationError
from pydantic.fields import FieldInfo

_MASK = "***"


@dataclass(frozen=True, slots=True)
class WrongSetting:
    """One variable that cannot be used as it is."""

    variable: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.variable}={self.value}: {self.allowed}"


class SettingsError(Exception):
    """The environment cannot be used: carries every wrong variable at once."""

    def __init__(self, wrong: list[WrongSetting]) -> None:
        super().__init__("\n".join(str(each) for each in wrong))
        self.wrong = wrong


def wrong_settings(error: ValidationError, fields: Mapping[str, FieldInfo]) -> list[WrongSetting]:
    """Return what is wrong in the words of the variables, secrets masked."""
    by_variable = {field.alias: field for field in fields.values()}
    found = []
    for each in error.errors(include_url=False):
        variable = str(each["loc"][0])
        field = by_variable[variable]
        value = _shown(field, str(each["input"]))
        reason = (
            str(each["ctx"]["error"]) if each["type"] == "value_error" else f"must be {allowed_values(field)}"
        )
        found.append(WrongSetting(variable, value, reason))
    return found


def _shown(field: FieldInfo, value: str) -> str:
    """Return a value as it may be told: without what may be secret in it, and moving no terminal."""
    types = _types(field)
    if SecretStr in types:
        return _MASK
    told = _without_secrets(value) if AnyHttpUrl in types else value
    return told if told.isprintable() else repr(told)


def _without_secrets(url: str) -> str:
    """Return of a URL what is an address; it may be none at all."""
    address, has_query, _ = url.partition("?")
    users, has_user, host = address.rpartition("@")
    scheme, has_scheme, _ = users.partition("://")
    head = f"{scheme}://" if has_scheme else ""
    return (f"{head}{_MASK}@{host}" if has_user else address) + (f"?{_MASK}" if has_query else "")


def allowed_values(field: FieldInfo) -> str:
    """Return what a variable may be, in a few words."""
    types = _types(field)
    for kind, words in _WORDS.items():
        if kind in types:
            return words + _bounds(field.metadata)
    choices = _choices(field)
    if choices:
        return "one of " + ", ".join(choices)
    return "a text" + _bounds(field.metadata)


def wrong_lines(file: Path) -> list[WrongSetting]:
    """Return the lines of a file of settings that nobody understands; they would be passed over unsaid."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    lines = [binding.original.line for binding in parse_stream(StringIO(text)) if binding.error]
    return [WrongSetting(file.name, f"line {line}", "must be NAME=value or # a remark") for line in lines]


def unreadable_file(error: OSError | UnicodeDecodeError) -> WrongSetting:
    """Return what to say of a `.env` that cannot be read."""
    seen = "(no UTF-8)" if isinstance(error, UnicodeDecodeError) else f"({error.strerror})"
    return WrongSetting(".env", seen, "must be a readable text of lines such as PORT=3000")


def _types(field: FieldInfo) -> set[object]:
    """Return the types that a field may have, without what is demanded of them beyond the type."""
    alternatives = {field.annotation, *get_args(field.annotation)}
    return {get_args(each)[0] if get_origin(each) is Annotated else each for each in alternatives}


def _choices(field: FieldInfo) -> list[str]:
    annotation = field.annotation
    return [str(each) for each in get_args(annotation)] if get_origin(annotation) is Literal else []


def _bounds(metadata: Iterable[object]) -> str:
    least = greatest = ""
    for each in metadata:
        match each:
            case Ge():
                least = str(each.ge)
            case Le():
                greatest = str(each.le)
            case MinLen(min_length=length):
                return " that is not empty" if length == 1 else f" of at least {length} characters"
            case _ if hasattr(each, "pattern"):
                return f" that matches {each.pattern}"
            case _:
                continue
    return f" from {least} to {greatest}" if least and greatest else ""


_WORDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    AnyHttpUrl: "an http:// or https:// URL",
    SecretStr: "a text",
    Path: "a path",
}
