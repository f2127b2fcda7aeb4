"""Which of several upstreams of one instance stays, and when the others may be removed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.duplicates import Family, Sibling, Verdict, judge_family
from tests.support.builders import after

OLD = Sibling("old", 1, after(-60))
NEW = Sibling("new", 2, after(-30))
FAMILY = Family("own", [NEW, OLD], known_attempts={1, 2, 3}, proven_alive={"own"}, is_settled=True)


def test_a_duplicate_is_removed_once_the_own_one_is_proven_alive() -> None:
    assert judge_family(FAMILY) == Verdict("own", ("new", "old"))


@pytest.mark.parametrize(
    "family",
    [
        replace(FAMILY, is_attempt_open=True),
        replace(FAMILY, is_settled=False),
        replace(FAMILY, others=[]),
    ],
)
def test_nothing_is_removed_while_anything_is_open(family: Family) -> None:
    assert judge_family(family) == Verdict("own")


def test_without_proof_the_oldest_that_matches_an_attempt_stays_and_none_goes() -> None:
    assert judge_family(replace(FAMILY, proven_alive=frozenset())) == Verdict("old")
    unknown_age = replace(OLD, created_at=None)
    assert judge_family(replace(FAMILY, proven_alive=frozenset(), others=[unknown_age, NEW])).keep == "new"


def test_a_proven_heir_is_preferred_and_clears_the_rest() -> None:
    assert judge_family(replace(FAMILY, proven_alive={"new"})) == Verdict("new", ("old",))


def test_what_matches_no_attempt_inherits_nothing() -> None:
    assert judge_family(replace(FAMILY, known_attempts=frozenset(), proven_alive=frozenset())) == Verdict(
        "own"
    )


def test_a_row_without_upstream_takes_the_oldest() -> None:
    family = replace(FAMILY, own=None, proven_alive={"old", "new"})
    assert judge_family(family) == Verdict("old", ("new",))


def test_all_go_when_the_instance_is_not_wanted() -> None:
    family = replace(FAMILY, is_wanted=False, is_settled=False, proven_alive=frozenset())
    assert judge_family(family) == Verdict("own", ("new", "old"))
    assert judge_family(replace(family, is_attempt_open=True)) == Verdict("own")


ids = st.sampled_from(["own", "a", "b", "c"])
families = st.builds(
    Family,
    st.none() | st.just("own"),
    st.lists(
        st.builds(Sibling, st.sampled_from(["a", "b", "c"]), st.integers(1, 3)),
        unique_by=lambda s: s.upstream_id,
    ),
    known_attempts=st.sets(st.integers(1, 3)),
    proven_alive=st.sets(ids),
    is_attempt_open=st.booleans(),
    is_settled=st.booleans(),
)


@given(families)
def test_a_wanted_instance_never_loses_an_upstream_unless_one_proven_alive_stays(family: Family) -> None:
    verdict = judge_family(family)
    assert verdict.keep not in verdict.remove
    if verdict.remove:
        assert verdict.keep in family.proven_alive
        assert family.is_settled
        assert not family.is_attempt_open
