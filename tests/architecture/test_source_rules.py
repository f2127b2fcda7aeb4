"""Ostler's source keeps the rules of `source_rules.py`; and each rule, given a bad sample, finds it."""

from collections.abc import Callable, Iterator

import pytest

from tests.architecture import source_rules as rules
from tests.architecture.tree import Source, python_files, text_files

Rule = Callable[[Source], Iterator[str]]

OURS = ("src/ostler", "tests", "tools", "benchmarks", "examples")

# rule → the folders that it holds for
SCOPE: dict[Rule, tuple[str, ...]] = {
    rules.file_is_short: OURS,
    rules.functions_are_short: OURS,
    rules.name_says_something: OURS,
    rules.module_introduces_itself: ("src/ostler",),
    rules.broad_excepts_are_outermost: ("src/ostler",),
    rules.settings_read_the_environment: ("src/ostler",),
    rules.states_move_by_arrows: ("src/ostler",),
}

LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 60
STATE = "src/ostler/usecases/stop.py"

BAD: list[tuple[Rule, str, str]] = [
    (rules.file_is_short, "src/ostler/x.py", "x = 1\n" * 301),
    (rules.functions_are_short, "src/ostler/x.py", LONG_FUNCTION),
    (rules.functions_are_short, "src/ostler/x.py", LONG_FUNCTION.replace("def", "async def")),
    (rules.module_introduces_itself, "src/ostler/x.py", "x = 1\n"),
    (rules.module_introduces_itself, "src/ostler/x.py", '"""One line."""\n'),
    (rules.module_introduces_itself, "src/ostler/x.py", '"""' + "line\n" * 9 + '"""\n'),
    (rules.module_introduces_itself, "src/ostler/x.py", '# first\n"""Two\nlines."""\n'),
    (rules.name_says_something, "src/ostler/store/utils.py", ""),
    (rules.name_says_something, "src/ostler/store/instance_manager.py", ""),
    (rules.name_says_something, "src/ostler/common/instance.py", ""),
    (rules.broad_excepts_are_outermost, "src/ostler/x.py", "try:\n    f()\nexcept Exception:\n    pass\n"),
    (rules.broad_excepts_are_outermost, "src/ostler/x.py", "try:\n    f()\nexcept:\n    pass\n"),
    (
        rules.broad_excepts_are_outermost,
        "src/ostler/x.py",
        "try:\n    f()\nexcept (E, BaseException):\n    pass\n",
    ),
    (rules.broad_excepts_are_outermost, "src/ostler/x.py", "with contextlib.suppress(Exception):\n    f()\n"),
    (rules.settings_read_the_environment, "src/ostler/x.py", "import os\nos.environ['A']\n"),
    (rules.settings_read_the_environment, "src/ostler/x.py", "import os\nos.getenv('A')\n"),
    (rules.settings_read_the_environment, "src/ostler/x.py", "from os import environ\n"),
    (rules.settings_read_the_environment, "src/ostler/x.py", "from pydantic_settings import BaseSettings\n"),
    (rules.states_move_by_arrows, STATE, "instance.state = State.READY\n"),
    (rules.states_move_by_arrows, STATE, "instance.state: State = State.READY\n"),
    (rules.states_move_by_arrows, STATE, "(instance.state, x) = State.READY, 1\n"),
    (rules.states_move_by_arrows, STATE, "replace(instance, state=target)\n"),
    (rules.states_move_by_arrows, STATE, "dataclasses.replace(instance, state=target)\n"),
    (rules.states_move_by_arrows, STATE, "update(instances).values(state=State.READY)\n"),
    (rules.states_move_by_arrows, STATE, "update(instances).values(state=State.READY.value)\n"),
    (rules.states_move_by_arrows, STATE, "Instance(id=1, state=lifecycle.State.READY)\n"),
    (rules.states_move_by_arrows, STATE, "object.__setattr__(instance, 'state', target)\n"),
]

GOOD: list[tuple[Rule, str, str]] = [
    (rules.file_is_short, "src/ostler/x.py", "x = 1\n" * 300),
    (rules.functions_are_short, "src/ostler/x.py", LONG_FUNCTION.replace("    x = 1\n", "", 1)),
    (rules.module_introduces_itself, "src/ostler/x.py", '"""Two\nlines."""\n'),
    (rules.name_says_something, "src/ostler/store/database.py", ""),
    (rules.broad_excepts_are_outermost, "src/ostler/x.py", "try:\n    f()\nexcept ValueError:\n    pass\n"),
    (
        rules.broad_excepts_are_outermost,
        "src/ostler/x.py",
        "try:\n    f()\nexcept Exception:\n    g()\n    raise\n",
    ),
    (rules.settings_read_the_environment, "src/ostler/settings.py", "import os\nos.environ['A']\n"),
    (
        rules.states_move_by_arrows,
        STATE,
        "app.state.store = store\nif instance.state is State.READY:\n    pass\n",
    ),
    (rules.states_move_by_arrows, STATE, "update(instances).values(state=instance.state)\n"),
    (rules.states_move_by_arrows, "src/ostler/domain/instance.py", "replace(instance, state=arrow.target)\n"),
    (rules.states_move_by_arrows, "src/ostler/simulator/world.py", "machine.state = RUNNING\n"),
]


@pytest.mark.parametrize("rule", SCOPE, ids=lambda rule: rule.__name__)
def test_the_project_keeps_the_rule(rule: Rule) -> None:
    findings = [finding for source in python_files(*SCOPE[rule]) for finding in rule(source)]

    assert not findings, "\n".join(findings)


@pytest.mark.parametrize(("rule", "path", "text"), BAD)
def test_the_rule_finds_a_bad_sample(rule: Rule, path: str, text: str) -> None:
    findings = list(rule(Source(path, text)))

    assert len(findings) == 1
    assert findings[0].startswith(f"{path}:")


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_the_rule_lets_a_good_sample_pass(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(path, text))) == []


def test_no_allowance_outlives_its_reason() -> None:
    sources = {source.path: source for source in text_files()}
    idle = [
        path
        for path in rules.BROAD_EXCEPTS_ALLOWED
        if path not in sources or not list(rules.broad_catches(sources[path]))
    ]

    assert not idle, f"no longer catch every exception, so need no allowance: {idle}"


def test_every_rule_has_a_scope_and_a_bad_sample() -> None:
    assert {rule for rule, _, _ in BAD} == set(SCOPE)
    assert {rule for rule, _, _ in GOOD} == set(SCOPE)
    assert all(python_files(*folders) for folders in SCOPE.values())
