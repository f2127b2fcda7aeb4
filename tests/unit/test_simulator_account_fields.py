"""How the simulator reads JSON bodies and queries, and cuts lists into pages.

Everything that a face reads goes through these functions.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.simulator.account.fields import Fields, asked, words
from ostler.simulator.account.paging import cursor_page, numbered_page
from ostler.simulator.refusal import Refusal


def message_of(refusal: pytest.ExceptionInfo[Refusal]) -> str:
    assert (refusal.value.status, refusal.value.reason) == (400, "VALIDATOR_PARAM")
    return refusal.value.message


def test_absent_and_null_fields_take_their_defaults() -> None:
    fields = Fields({"name": None, "size": None, "on": None, "list": None, "nested": None})

    assert fields.text("name", default="x") == fields.text("other", default="x") == "x"
    assert fields.number("size", default=7) == fields.number("other", default=7) == 7
    assert fields.flag("on", default=True)
    assert fields.texts("list") == ()
    assert fields.child("nested").text("name") == ""
    assert not fields.has("name")


def test_a_number_is_also_read_from_a_decimal_string() -> None:
    assert Fields({"port": "8080"}).number("port") == 8080
    assert Fields({"ports": ["1", 2]}).numbers("ports") == (1, 2)


@pytest.mark.parametrize("value", [True, "8o8", 1.5, [], {}, "²", "--5", "-", "9" * 5_000])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(Refusal) as refusal:
        Fields({"port": value}).number("port")

    assert "invalid port" in message_of(refusal)


@pytest.mark.parametrize("length", [0, 4])
def test_a_text_of_the_wrong_length_is_refused_in_the_clouds_words(length: int) -> None:
    with pytest.raises(Refusal) as refusal:
        Fields({"name": "x" * length}).text("name", (1, 3))

    assert message_of(refusal) == "invalid name: value length must be between 1 and 3 runes, inclusive"


@pytest.mark.parametrize("number", [9, 21])
def test_a_number_outside_its_range_is_refused_and_named(number: int) -> None:
    with pytest.raises(Refusal) as refusal:
        Fields({"size": number}).number("size", (10, 20))

    assert message_of(refusal) == f"invalid size: value must be inside range [10, 20], not {number}"


def test_a_word_outside_its_list_is_refused_with_the_list() -> None:
    with pytest.raises(Refusal) as refusal:
        Fields({"kind": "tpu"}).word("kind", ("gpu", "cpu"))

    assert message_of(refusal) == "invalid kind: value must be in list [gpu cpu], not 'tpu'"


def test_a_nested_field_is_named_by_its_whole_path() -> None:
    fields = Fields({"envs": [{"key": "A"}, {"key": 5}]})

    with pytest.raises(Refusal) as refusal:
        [env.text("key") for env in fields.children("envs")]

    assert "invalid envs[1].key: value must be a string" in message_of(refusal)


@pytest.mark.parametrize(
    "read",
    [
        lambda fields: fields.text("x"),
        lambda fields: fields.child("x"),
        lambda fields: fields.children("x"),
        lambda fields: fields.children("ys"),
        lambda fields: fields.texts("x"),
        lambda fields: fields.texts("ys"),
        lambda fields: fields.flag("x"),
        lambda fields: fields.numbers("ys", (6, 9)),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(read: object) -> None:
    assert callable(read)

    with pytest.raises(Refusal) as refusal:
        read(Fields({"x": 5, "ys": [5]}))

    assert message_of(refusal).startswith("invalid ")


def test_a_list_that_is_too_long_is_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        Fields({"ids": ["a", "b"]}).texts("ids", most=1)

    assert message_of(refusal) == "invalid ids: at most 1 item(s) are allowed, not 2"


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_a_query_writes_truth_as_a_word(text: str, *, value: bool) -> None:
    assert asked({"flag": (text,)}).flag("flag", default=not value) is value


def test_a_list_parameter_may_be_repeated_or_joined() -> None:
    assert words(("private", "official")) == words(("private,official",)) == ("private", "official")


@pytest.mark.parametrize("number", [0, 1])
def test_page_zero_and_page_one_are_both_the_first(number: int) -> None:
    assert numbered_page("abcdef", number, 2) == "ab"


def test_pages_follow_one_another_and_end_empty() -> None:
    assert [numbered_page("abcde", number, 2) for number in (1, 2, 3, 4)] == ["ab", "cd", "e", ""]


def test_a_page_size_of_zero_is_the_default() -> None:
    assert len(numbered_page(list(range(50)), 1, 0)) == 10


@given(rows=st.sets(st.text(min_size=1), max_size=60), limit=st.integers(1, 70))
def test_cursors_lead_through_every_row_once(rows: set[str], limit: int) -> None:
    ordered, cursor = sorted(rows), ""
    seen: list[str] = []
    while True:
        page = cursor_page(ordered, str, limit=limit, cursor=cursor)
        seen += page.rows
        cursor = page.next_cursor
        if not page.has_more:
            break

    assert seen == ordered
    assert page.total == len(rows)


def test_a_cursor_survives_the_removal_of_rows_before_it() -> None:
    page = cursor_page(["a", "b", "c", "d"], str, limit=2, cursor="")

    assert cursor_page(["c", "d"], str, limit=2, cursor=page.next_cursor).rows == ["c", "d"]


def test_a_last_page_that_is_full_is_still_the_last() -> None:
    page = cursor_page(["a", "b"], str, limit=2, cursor="")

    assert (page.rows, page.has_more) == (["a", "b"], False)


def test_a_limit_of_zero_is_the_servers_default_and_large_ones_are_cut() -> None:
    rows = [f"{number:03}" for number in range(300)]

    assert len(cursor_page(rows, str, limit=0, cursor="").rows) == 20
    assert len(cursor_page(rows, str, limit=1_000, cursor="").rows) == 100


@pytest.mark.parametrize("cursor", ["nonsense", "gA==", "ä", "YWJj"])
def test_a_cursor_that_was_never_given_out_is_refused(cursor: str) -> None:
    with pytest.raises(Refusal) as refusal:
        cursor_page(["a"], str, limit=1, cursor=cursor)

    assert "invalid cursor" in message_of(refusal)
