"""Fills the parts of the documents that are drawn from the code, between `<!-- name:begin -->` and `:end`.

Run by `make fix`; with `--check` it changes nothing, names what is out of date, and exits with 1. A *block*
is one such part: the table of settings, of permissions, the diagram of states, what each transition tells.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ostler.api.permissions import PERMISSIONS, Permission
from ostler.domain.diagram import event_table, state_diagram
from ostler.settings import Settings
from ostler.settings_report import allowed_values

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?P<begin><!-- (?P<name>[a-z-]+):begin -->\n)(?P<body>.*?)(?P<end><!-- (?P=name):end -->)", re.DOTALL
)


class UnknownBlockError(Exception):
    """A document has a block that nothing draws."""

    def __init__(self, name: str) -> None:
        super().__init__(f"nothing draws the block {name!r}: the known ones are {', '.join(sorted(BLOCKS))}")


def settings_table() -> str:
    """Return every setting: its variable, what it is when not given, what it may be, what it is for."""
    rows = [
        (f"`{field.alias}`", _default(field), allowed_values(field), field.description or "")
        for field in Settings.model_fields.values()
        if field.description  # the others are standards of the system, told beside those that they serve
    ]
    return _table(("variable", "default", "allowed", "what for"), rows)


def states_picture() -> str:
    """Return the life of an instance as a picture that a Markdown reader draws."""
    return f"```mermaid\n{state_diagram().strip()}\n```"


def permissions_table() -> str:
    """Return every route, the least role that may use it, and what keys of one project get there."""
    rows = [(f"`{route}`", *_who_may(permission)) for route, permission in PERMISSIONS.items()]
    return _table(("route", "least role", "a key of one project"), rows)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "settings": settings_table,
    "states": states_picture,
    "permissions": permissions_table,
    "transitions": event_table,
}


def block_names(text: str) -> list[str]:
    """Return which blocks a document has."""
    return [match["name"] for match in BLOCK.finditer(text)]


def filled(text: str) -> str:
    """Return the document with every block drawn anew."""

    def draw(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in BLOCKS:
            raise UnknownBlockError(name)
        return f"{match['begin']}{BLOCKS[name]().strip()}\n{match['end']}"

    return BLOCK.sub(draw, text)


def documents(root: Path) -> Iterator[Path]:
    """Return the documents that may have blocks."""
    yield from sorted(root.glob("*.md"))
    yield from sorted(root.glob("docs/**/*.md"))


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Fill or check all documents, and return the exit code."""
    only_check = "--check" in arguments
    stale = 0
    for path in documents(root):
        before = path.read_text(encoding="utf-8")
        after = filled(before)
        if after == before:
            continue
        stale += 1
        if only_check:
            print(f"{path.relative_to(root)} is out of date: run make fix")
        else:
            path.write_text(after, encoding="utf-8")
            print(f"{path.relative_to(root)} was drawn anew")
    return 1 if only_check and stale else 0


def _who_may(permission: Permission) -> tuple[str, str]:
    if permission.role is None:
        return "none, without a key", "the same"
    return permission.role.value, "refused" if permission.is_about_everything else "its project's alone"


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None or value is PydanticUndefined or isinstance(value, SecretStr):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *(line(row) for row in rows)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
