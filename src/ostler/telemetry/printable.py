"""What came from outside, as it may stand in a log: nothing of it ends a line, moves a cursor or turns a text
around. Such characters are written as escapes, in both forms of the log.
"""

from collections.abc import Mapping

_INDENT = "    "  # so that no line of a traceback can look like an entry


def printable(text: str) -> str:
    """Return a text as one line of characters that can be seen."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines, each printable and indented."""
    return "\n".join(_INDENT + printable(line) for line in text.split("\n"))


def printable_value(value: object) -> object:
    """Return a value with its texts printable, however deep they lie."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {printable(str(name)): printable_value(each) for name, each in value.items()}
        case list() | tuple():
            return [printable_value(each) for each in value]
        case _:
            return value
