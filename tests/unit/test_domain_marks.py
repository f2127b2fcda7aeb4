"""Marks: written at the end of every allowed name, read from the end only, and never mistaken."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.marks import (
    EntropyError,
    Mark,
    is_install_id,
    is_instance_id,
    marked_name,
    new_install_id,
    new_instance_id,
    parse_mark,
    unmarked_name,
)
from tests.support.builders import INSTALL_ID, INSTANCE_ID, NOW

names = st.from_regex(r"[A-Za-z0-9_-]{1,100}", fullmatch=True)
install_ids = st.binary(min_size=5, max_size=5).map(new_install_id)
instance_ids = st.binary(min_size=10, max_size=10).map(lambda entropy: new_instance_id(NOW, entropy))
marks = st.builds(Mark, install_ids, instance_ids, st.integers(1, 32**8 - 1))


@given(names, marks)
def test_every_mark_is_read_back_from_every_allowed_name(name: str, mark: Mark) -> None:
    written = marked_name(name, mark)

    assert parse_mark(written) == mark
    assert unmarked_name(written) == name.replace("_", "-")
    assert len(written) <= 255
    assert re.fullmatch(r"[A-Za-z0-9-]+--os-[a-z2-7]+-[a-z2-7]+-[a-z2-7]+", written)


@given(names, marks, marks)
def test_a_mark_inside_a_users_name_does_not_hide_the_one_at_its_end(
    name: str, inner: Mark, outer: Mark
) -> None:
    assert parse_mark(marked_name(f"{name}{inner}", outer)) == outer


@given(st.text(max_size=80))
def test_names_without_a_mark_are_left_alone(name: str) -> None:
    if "--os-" not in name:
        assert parse_mark(name) is None
        assert unmarked_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        f"demo--os-{INSTALL_ID}-{INSTANCE_ID}-3x",
        f"demo--os-{INSTALL_ID}-{INSTANCE_ID}-3-more",
        f"demo--os-{INSTALL_ID.upper()}-{INSTANCE_ID}-3",
        f"demo--os-{INSTALL_ID}-{INSTANCE_ID}",
        f"demo--os-{INSTALL_ID}-{INSTANCE_ID}-",
        f"demo-os-{INSTALL_ID}-{INSTANCE_ID}-3",
        f"demo--os-{INSTALL_ID}-{INSTANCE_ID}-23",  # the cloud's filter is fuzzy, ours is not: written as 3
        f"demo--os-{INSTALL_ID}-{INSTANCE_ID}-3\n",
    ],
)
def test_what_only_looks_like_a_mark_is_not_taken_for_the_first_attempts(name: str) -> None:
    assert parse_mark(name) != Mark(INSTALL_ID, INSTANCE_ID, 1)


def test_a_name_that_is_too_long_loses_its_end_and_never_its_mark() -> None:
    mark = Mark(INSTALL_ID, INSTANCE_ID, 1)
    written = marked_name("n" * 300, mark)
    assert len(written) == 255
    assert parse_mark(written) == mark


@given(st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10), st.integers(1, 10**12))
def test_ids_sort_by_the_instant_that_they_were_made_at(first: bytes, second: bytes, later_by: int) -> None:
    later = NOW + timedelta(milliseconds=later_by)
    assert new_instance_id(NOW, first) < new_instance_id(later, second)


@given(instance_ids, install_ids)
def test_ids_are_recognised(instance_id: str, install_id: str) -> None:
    assert is_instance_id(instance_id)
    assert is_install_id(install_id)


@pytest.mark.parametrize("word", ["", "short", "x" * 25, "x" * 27, "X" * 26, "1" * 26, "../" + "a" * 23])
def test_other_words_are_no_instance_ids(word: str) -> None:
    assert not is_instance_id(word)


@pytest.mark.parametrize("word", ["", "abc", "with-dash", "UPPER", "a" * 33, "abcd1", "abcd\n"])
def test_other_words_are_no_install_ids(word: str) -> None:
    assert not is_install_id(word)


def test_different_entropy_makes_different_ids() -> None:
    assert new_install_id(b"aaaaa") != new_install_id(b"aaaab")
    assert new_instance_id(NOW, b"a" * 10) != new_instance_id(NOW, b"a" * 9 + b"b")


def test_too_little_entropy_is_refused() -> None:
    with pytest.raises(EntropyError, match="10 random bytes, not 9"):
        new_instance_id(NOW, b"a" * 9)
    with pytest.raises(EntropyError, match="5 random bytes, not 6"):
        new_install_id(b"a" * 6)
