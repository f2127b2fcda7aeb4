"""Whose an upstream is: by the row that names it, else by the mark in its name."""

from dataclasses import replace

import pytest

from ostler.domain.kinship import Kinship, RowIdentity, household, relation
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name, new_install_id
from tests.support.builders import INSTALL_ID, INSTANCE_ID, UPSTREAM_ID

OTHER_INSTALL = new_install_id(b"other")
MARK = Mark(INSTALL_ID, INSTANCE_ID, 2)
NAME = marked_name("demo", MARK)
PLACED = RowIdentity(INSTANCE_ID, State.RUNNING, UPSTREAM_ID)


def kinship(upstream_id: str, name: str, *rows: RowIdentity) -> Kinship:
    ours = household(INSTALL_ID, {row.instance_id: row for row in rows})
    return relation(upstream_id, name, ours).kinship


def test_a_rows_own_upstream_is_ours_even_without_a_mark() -> None:
    assert kinship(UPSTREAM_ID, "adopted by hand", PLACED) is Kinship.OURS


def test_a_tombstones_own_upstream_is_ours_so_that_it_is_seen_again() -> None:
    assert kinship(UPSTREAM_ID, NAME, replace(PLACED, state=State.TERMINATED)) is Kinship.OURS


def test_what_a_recreation_is_about_to_replace_is_ours() -> None:
    row = replace(PLACED, predecessor_id="old")
    assert kinship("old", NAME, row) is Kinship.OURS
    assert kinship("old", NAME, replace(row, state=State.TERMINATED)) is Kinship.LATE


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, Kinship.ORPHAN),
        (PLACED, Kinship.DUPLICATE),
        (RowIdentity(INSTANCE_ID, State.CREATING), Kinship.AWAITED),
        (RowIdentity(INSTANCE_ID, State.TERMINATING), Kinship.AWAITED),
        (RowIdentity(INSTANCE_ID, State.TERMINATED), Kinship.LATE),
        (replace(PLACED, state=State.TERMINATED), Kinship.LATE),
    ],
)
def test_an_unknown_upstream_with_our_mark_is_judged_by_its_row(
    row: RowIdentity | None, expected: Kinship
) -> None:
    assert kinship("fedcba", NAME, *([] if row is None else [row])) is expected


@pytest.mark.parametrize("name", ["demo", "", "demo--os-", "x--os-UPPER-case-2", NAME + "-copy-of-it"])
def test_what_carries_no_mark_is_a_stranger(name: str) -> None:
    assert kinship("fedcba", name, PLACED) is Kinship.STRANGER


def test_another_installation_is_recognised_until_it_is_taken_over() -> None:
    theirs = marked_name("demo", replace(MARK, install_id=OTHER_INSTALL))
    before = relation("fedcba", theirs, household(INSTALL_ID, {}))
    after_adoption = relation("fedcba", theirs, household(INSTALL_ID, {}, frozenset({OTHER_INSTALL})))

    assert before.kinship is Kinship.OTHER_INSTALLATION
    assert before.mark is not None
    assert before.mark.install_id == OTHER_INSTALL
    assert after_adoption.kinship is Kinship.ORPHAN


def test_a_relation_names_the_row_and_the_attempt() -> None:
    found = relation("fedcba", NAME, household(INSTALL_ID, {INSTANCE_ID: PLACED}))
    assert (found.instance_id, found.mark) == (INSTANCE_ID, MARK)
