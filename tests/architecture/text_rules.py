"""The rules about every text of the project, documents included: what none may contain, which links hold.

A finding is one line, `path:line: what is wrong`. `test_text_rules.py` applies them and proves that each
of them bites.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import normpath

from tests.architecture.tree import Source

# [x] keeps a pattern from finding itself.
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E)\b")
PACKAGE_INDEX = re.compile(
    r"\b(?:pypi\.(?:org|python\.org)|pythonhosted\.org|registry\.npmjs\.org|deb\.debian\.org|devp[i]|artif[a]ctory)\b"
    r"|--(?:extra-)?index-url[ =]*\w+:"
    r"|\b(?:PIP|UV)_\w*INDEX\w*=\S*://"
)
PATH_OF_ONE_MACHINE = re.compile(r"(?<![\w.~$}-])/(?:home|root|work|Users)/[\w.-]+")

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)|(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def nothing_is_unfinished(source: Source) -> Iterator[str]:
    """No file holds a note that something is left to do."""
    yield from _found(source, UNFINISHED, "is left undone: do it, or write down why not")


def no_package_index_is_named(source: Source) -> Iterator[str]:
    """No file names a host that packages come from: that is the machine's configuration."""
    yield from _found(source, PACKAGE_INDEX, "names a package index: the machine's configuration does")


def no_machine_is_named(source: Source) -> Iterator[str]:
    """No file holds a path that exists on one machine only."""
    yield from _found(source, PATH_OF_ONE_MACHINE, "is a path of one machine")


def _found(source: Source, pattern: re.Pattern[str], what: str) -> Iterator[str]:
    for number, line in enumerate(source.lines, 1):
        for match in pattern.finditer(line):
            yield f"{source.path}:{number}: {match.group()!r} {what}"


def broken_links(document: Source, files: dict[str, Source | None]) -> Iterator[str]:
    """Return the relative links of a Markdown document that lead to no file, or to no heading in it.

    `files` has every path of the project; a document's with its text, so that its headings can be read.
    """
    for number, target in _links(document):
        path, _, anchor = target.partition("#")
        place = normpath(str(PurePosixPath(document.path).parent / path)) if path else document.path
        if place not in files and not _is_folder(place, files):
            yield f"{document.path}:{number}: {target} leads to no file"
        elif anchor and (linked := files.get(place)) is not None and anchor not in set(_anchors(linked)):
            yield f"{document.path}:{number}: {target} leads to no heading"


def _links(document: Source) -> Iterator[tuple[int, str]]:
    for number, line in _prose(document):
        for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target = next(group for group in match.groups() if group)
            if not ELSEWHERE.match(target) and not target.startswith("/"):
                yield number, target


def _anchors(document: Source) -> Iterator[str]:
    """Return the headings as GitHub spells them in a link."""
    for _, line in _prose(document):
        if heading := HEADING.match(line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def _prose(document: Source) -> Iterator[tuple[int, str]]:
    """Return the numbered lines outside of code blocks."""
    in_code = False
    for number, line in enumerate(document.lines, 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def _is_folder(place: str, files: dict[str, Source | None]) -> bool:
    return place == "." or any(path.startswith(f"{place}/") for path in files)
