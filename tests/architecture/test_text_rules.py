"""The project's texts keep the rules of `text_rules.py`; and each rule, given a bad sample, finds it."""

from collections.abc import Callable, Iterator

import pytest

from tests.architecture import text_rules as rules
from tests.architecture.tree import Source, markdown_files, project_files, text_files

Rule = Callable[[Source], Iterator[str]]

RULES: tuple[Rule, ...] = (
    rules.nothing_is_unfinished,
    rules.no_package_index_is_named,
    rules.no_machine_is_named,
)

# put together, so that this file does not break the rules that it tests
BAD: list[tuple[Rule, str]] = [
    (rules.nothing_is_unfinished, "# TO" + "DO later"),
    (rules.nothing_is_unfinished, "fix me: FIX" + "ME"),
    (rules.no_package_index_is_named, "https://pypi" + ".org/simple"),
    (rules.no_package_index_is_named, "files.python" + "hosted.org"),
    (rules.no_package_index_is_named, "pip install --index" + "-url https://mirror.example/simple x"),
    (rules.no_package_index_is_named, "PIP_INDEX" + "_URL=https://mirror.example/simple"),
    (rules.no_machine_is_named, "cd /ho" + "me/ada/ostler"),
    (rules.no_machine_is_named, "'/wo" + "rk/main'"),
    (rules.no_machine_is_named, "open /Us" + "ers/ada"),
    (rules.no_machine_is_named, "/ro" + "ot/.pyenv/bin"),
]

GOOD: list[tuple[Rule, str]] = [
    (rules.nothing_is_unfinished, "what there is to do"),
    (rules.no_package_index_is_named, "PIP_INDEX_URL names the index; the wheel is on PyPI"),
    (rules.no_machine_is_named, "https://example.com/home/ada and ~/work/ostler and /workspace/models"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_project_keeps_the_rule(rule: Rule) -> None:
    findings = [finding for source in text_files() for finding in rule(source)]

    assert not findings, "\n".join(findings)


@pytest.mark.parametrize(("rule", "text"), BAD)
def test_the_rule_finds_a_bad_sample(rule: Rule, text: str) -> None:
    findings = list(rule(Source("docs/x.md", f"first\n{text}\n")))

    assert len(findings) == 1
    assert findings[0].startswith("docs/x.md:2: ")


@pytest.mark.parametrize(("rule", "text"), GOOD)
def test_the_rule_lets_a_good_sample_pass(rule: Rule, text: str) -> None:
    assert list(rule(Source("docs/x.md", text))) == []


def test_every_rule_has_samples() -> None:
    assert {rule for rule, _ in BAD} == {rule for rule, _ in GOOD} == set(RULES)


def test_every_relative_link_of_the_documents_leads_somewhere() -> None:
    files: dict[str, Source | None] = dict.fromkeys(project_files())
    files |= {document.path: document for document in markdown_files()}

    broken = [finding for document in markdown_files() for finding in rules.broken_links(document, files)]

    assert not broken, "\n".join(broken)


OTHER = Source("docs/other.md", "# The Title: of `it`\n\n## Second\n")


@pytest.mark.parametrize(
    "link",
    [
        "[a](missing.md)",
        "![a](../missing.png)",
        "see [a](other.md#nowhere)",
        "[a](#nowhere)",
        "[ref]: missing.md",
        '<img src="missing.svg">',
    ],
)
def test_a_link_that_leads_nowhere_is_found(link: str) -> None:
    document = Source("docs/x.md", f"# X\n\n{link}\n")

    found = list(rules.broken_links(document, {"docs/x.md": document, "docs/other.md": OTHER}))

    assert len(found) == 1
    assert found[0].startswith("docs/x.md:3: ")


@pytest.mark.parametrize(
    "link",
    [
        "[a](other.md)",
        "[a](other.md#the-title-of-it)",
        "[a](./other.md#second)",
        "[a](../docs)",
        "[a](#x)",
        "[a](https://example.com/missing.md)",
        "`[a](missing.md)`",
        "```\n[a](missing.md)\n```",
    ],
)
def test_a_link_that_holds_is_let_pass(link: str) -> None:
    document = Source("docs/x.md", f"# X\n\n{link}\n")

    assert list(rules.broken_links(document, {"docs/x.md": document, "docs/other.md": OTHER})) == []
