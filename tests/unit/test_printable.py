"""What came from outside takes one line in a log, whatever is in it."""

from hypothesis import given
from hypothesis import strategies as st

from ostler.telemetry.printable import printable, printable_lines, printable_value


@given(text=st.text(st.characters(), max_size=30))
def test_no_text_ends_its_line_or_moves_a_cursor(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text).splitlines()) <= 1


@given(text=st.text(st.characters(), max_size=30))
def test_every_line_of_a_traceback_is_indented(text: str) -> None:
    assert all(line.startswith("    ") for line in printable_lines(text).split("\n"))


def test_what_can_be_seen_stays_as_it_is() -> None:
    assert printable("GET /api/instances 🦄 أمل Žofie") == "GET /api/instances 🦄 أمل Žofie"
    assert printable("a\r\nb\x1b[31m\u202ec") == r"a\r\nb\x1b[31m\u202ec"


def test_texts_are_found_however_deep_they_lie() -> None:
    assert printable_value({"a": ["\n", {"b\n": "\t"}], "c": 1, "d": None}) == {
        "a": [r"\n", {r"b\n": r"\t"}],
        "c": 1,
        "d": None,
    }
