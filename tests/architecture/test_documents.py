"""The documents say what the code does: their generated parts are what the code draws now."""

from pathlib import Path

import pytest

from ostler.cli import command_line
from ostler.settings import Settings
from tests.architecture.tree import ROOT, markdown_files
from tools import generate_docs
from tools.generate_docs import BLOCKS, UnknownBlockError, block_names, filled, main

LONGEST_MAP = 200
HOME_OF_BLOCK = {
    "settings": "docs/configuration.md",
    "permissions": "docs/security.md",
    "states": "ARCHITECTURE.md",
    "transitions": "docs/webhooks.md",
}


def document(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_map_of_the_project_is_read_in_one_sitting() -> None:
    assert len(document("ARCHITECTURE.md").splitlines()) <= LONGEST_MAP


def test_decisions_are_numbered_one_by_one() -> None:
    files = sorted((ROOT / "docs" / "decisions").glob("*.md"))

    headings = [file.read_text(encoding="utf-8").partition(". ")[0] for file in files]
    assert headings == [f"# {number}" for number in range(1, len(files) + 1)]
    assert [int(file.name.partition("-")[0]) for file in files] == list(range(1, len(files) + 1))


def test_the_front_page_names_every_command() -> None:
    page = document("README.md")

    commands = [name for name in command_line() if not name.startswith("-")]
    assert len(commands) > 1
    assert not [name for name in commands if f"`ostler {name}`" not in page]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_generated_part_stands_in_its_document_as_the_code_draws_it(name: str) -> None:
    text = document(HOME_OF_BLOCK[name])

    assert name in block_names(text)
    assert BLOCKS[name]().strip() in text


def test_no_generated_part_is_out_of_date() -> None:
    stale = [each.path for each in markdown_files() if filled(each.text) != each.text]

    assert not stale, f"run make fix: {stale}"


def test_a_table_of_settings_names_each_variable_and_never_a_secret() -> None:
    table = generate_docs.settings_table()

    told = {field.alias for field in Settings.model_fields.values() if field.description}
    assert all(f"| `{variable}` |" in table for variable in told)
    assert "SecretStr" not in table
    assert "| `PORT` | `3000` | a whole number from 0 to 65535 |" in table


def test_a_changed_part_is_found_then_filled_then_found_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("# X\n\n<!-- states:begin -->\nold\n<!-- states:end -->\n\nend\n", encoding="utf-8")

    assert main(["--check"], tmp_path) == 1
    assert "docs/page.md is out of date" in capsys.readouterr().out
    assert "old" in page.read_text(encoding="utf-8")
    assert main([], tmp_path) == 0
    drawn = f"# X\n\n<!-- states:begin -->\n{generate_docs.states_picture()}\n<!-- states:end -->\n\nend\n"
    assert page.read_text(encoding="utf-8") == drawn
    assert main(["--check"], tmp_path) == 0


def test_a_part_that_nothing_draws_is_refused() -> None:
    with pytest.raises(UnknownBlockError, match="weather"):
        filled("<!-- weather:begin -->\n<!-- weather:end -->\n")
