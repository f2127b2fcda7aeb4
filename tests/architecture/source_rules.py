"""The rules about Python source that no linter checks, each a function from a file to what is wrong in it.

A finding is one line, `path:line: what is wrong`. `test_source_rules.py` applies them to the project and
proves on bad samples that each of them bites.
"""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from tests.architecture.tree import Source

LONGEST_FILE = 300
LONGEST_FUNCTION = 60
DOCSTRING_LINES = range(2, 9)

BANNED_NAMES = frozenset(
    "base common helper helpers manager managers misc service services util utils".split()  # noqa: SIM905 - read as words
)

# The outermost loops: file → why it may catch what it does not know.
BROAD_EXCEPTS_ALLOWED = {
    "src/ostler/api/tracking.py": "the server's outermost loop: it logs, and answers with a 500",
    "src/ostler/engine/outlive.py": "an outermost loop goes on after what nobody thought of",
    "src/ostler/engine/running.py": "the worker's outermost loop: an error is one failed try of its job",
    "src/ostler/store/sqlite_writer.py": "the writer's loop: an error belongs to whoever gave the order",
}

# The tables of arrows, and the values that follow them.
MOVERS_OF_STATE = (
    "src/ostler/domain/attempts.py",
    "src/ostler/domain/instance.py",
    "src/ostler/domain/lifecycle.py",
)
READER_OF_THE_ENVIRONMENT = "src/ostler/settings.py"
PRETEND_CLOUD = "src/ostler/simulator/"  # its machines are not our instances: it has states of its own


def file_is_short(source: Source) -> Iterator[str]:
    """A file has at most 300 lines."""
    count = len(source.lines)
    if count > LONGEST_FILE:
        yield f"{source.path}:{LONGEST_FILE + 1}: {count} lines, at most {LONGEST_FILE}"


def functions_are_short(source: Source) -> Iterator[str]:
    """A function has at most 60 lines, decorators not counted."""
    for node in ast.walk(source.parsed()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > LONGEST_FUNCTION:
                where = f"{source.path}:{node.lineno}"
                yield f"{where}: {node.name} has {count} lines, at most {LONGEST_FUNCTION}"


def module_introduces_itself(source: Source) -> Iterator[str]:
    """A module opens, on its first line, with a docstring of 2 to 8 lines."""
    tree = source.parsed()
    docstring = ast.get_docstring(tree)
    if docstring is None or tree.body[0].lineno != 1:
        yield f"{source.path}:1: opens without a docstring on its first line"
    elif len(docstring.splitlines()) not in DOCSTRING_LINES:
        yield f"{source.path}:1: its docstring has {len(docstring.splitlines())} lines, not 2 to 8"


def name_says_something(source: Source) -> Iterator[str]:
    """A file or folder is named after what it holds, not `utils`, `manager` and the like."""
    words = {word for part in source.path.removesuffix(".py").split("/") for word in part.split("_")}
    for word in sorted(words & BANNED_NAMES):
        yield f"{source.path}:1: {word!r} in a name says nothing of what is in it"


def broad_excepts_are_outermost(source: Source) -> Iterator[str]:
    """Only the outermost loops catch every exception; others may tidy up, and raise it again."""
    if source.path not in BROAD_EXCEPTS_ALLOWED:
        yield from (f"{source.path}:{line}: catches every exception" for line in broad_catches(source))


def broad_catches(source: Source) -> Iterator[int]:
    """Return the lines that catch, or suppress, every exception."""
    for node in ast.walk(source.parsed()):
        match node:
            case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
                continue
            case ast.ExceptHandler(type=None):
                yield node.lineno
            case ast.ExceptHandler(type=ast.expr() as caught) if _is_broad(caught):
                yield node.lineno
            case ast.Call(func=ast.Name("suppress") | ast.Attribute(attr="suppress")):
                if any(_is_broad(each) for each in node.args):
                    yield node.lineno
            case _:
                continue


def _is_broad(caught: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id in {"Exception", "BaseException"} for node in ast.walk(caught)
    )


def settings_read_the_environment(source: Source) -> Iterator[str]:
    """Only settings.py reads environment variables, by whichever way."""
    if source.path == READER_OF_THE_ENVIRONMENT:
        return
    for node in ast.walk(source.parsed()):
        match node:
            case ast.Attribute(
                value=ast.Name("os"), attr="environ" | "environb" | "getenv" | "getenvb" | "putenv"
            ):
                yield f"{source.path}:{node.lineno}: os.{node.attr}: only settings.py reads the environment"
            case ast.ImportFrom(module="os") if any("env" in each.name for each in node.names):
                yield f"{source.path}:{node.lineno}: takes the environment from os: only settings.py reads it"
            case ast.ImportFrom(module="pydantic_settings" | "dotenv"):
                yield f"{source.path}:{node.lineno}: {node.module}: only settings.py reads the environment"
            case _:
                continue


def states_move_by_arrows(source: Source) -> Iterator[str]:
    """A state moves only where the table of arrows is asked: nowhere else is one assigned."""
    if source.path in MOVERS_OF_STATE or source.path.startswith(PRETEND_CLOUD):
        return
    for node in ast.walk(source.parsed()):
        if _assigns_a_state(node) or _replaces_a_state(node):
            yield f"{source.path}:{node.lineno}: moves a state past its table of arrows"


def _assigns_a_state(node: ast.AST) -> TypeGuard[ast.stmt]:
    targets: list[ast.expr] = []
    match node:
        case ast.Assign():
            targets = node.targets
        case ast.AugAssign() | ast.AnnAssign():
            targets = [node.target]
        case _:
            return False
    return any(
        isinstance(each, ast.Attribute) and each.attr == "state"
        for target in targets
        for each in _parts(target)
    )


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _parts(each)
    else:
        yield target


def _replaces_a_state(node: ast.AST) -> TypeGuard[ast.expr]:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(called) | ast.Attribute(attr=called):
            pass
        case _:
            return False
    if called in {"replace", "_replace"}:
        return any(each.arg == "state" for each in node.keywords)
    if called in {
        "Instance",
        "values",
    }:  # a new row, or a column: the state comes from the domain, never from here
        return any(each.arg == "state" and _is_member_of_state(each.value) for each in node.keywords)
    if called in {"setattr", "__setattr__"}:
        return any(isinstance(each, ast.Constant) and each.value == "state" for each in node.args)
    return False


def _is_member_of_state(value: ast.expr) -> bool:
    match value:
        case ast.Attribute(value=ast.Name("State") | ast.Attribute(attr="State")):
            return True
        case ast.Attribute(value=ast.Attribute() as inner, attr="value"):
            return _is_member_of_state(inner)
        case _:
            return False
