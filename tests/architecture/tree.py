"""The project's own files, as the rules of this folder read them: a path from the root and its text.

Both what is committed and what is about to be are read; what .gitignore names, and libraries of others
that are kept in a folder `vendor`, are not.
"""

import ast
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Source:
    """One text file of the project."""

    path: str  # from the root, with slashes
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.splitlines()

    def parsed(self) -> ast.Module:
        """Return the syntax tree of a Python file."""
        return ast.parse(self.text, self.path)


@cache
def project_files() -> tuple[str, ...]:
    """Return the paths of all files of the project."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    paths = {path for path in listed.stdout.split("\0") if path and "/vendor/" not in path}
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


@cache
def text_files() -> tuple[Source, ...]:
    """Return every file of the project that is text."""
    found = []
    for path in project_files():
        content = (ROOT / path).read_bytes()
        if b"\0" not in content:
            found.append(Source(path, content.decode("utf-8")))
    return tuple(found)


def python_files(*folders: str) -> list[Source]:
    """Return the Python files under the given folders."""
    return [
        each
        for each in text_files()
        if each.path.endswith(".py") and each.path.startswith(tuple(f"{folder}/" for folder in folders))
    ]


def markdown_files() -> list[Source]:
    """Return the documents."""
    return [each for each in text_files() if each.path.endswith(".md")]
