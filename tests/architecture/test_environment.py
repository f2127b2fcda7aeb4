"""No test inherits what its caller has set for Ostler, and each test carries the mark of its tier."""

import asyncio
import os

import pytest

from ostler.settings import Settings
from tests.conftest import TIERS, reaches_ostler


def test_a_variable_that_ostler_reads_does_not_reach_a_test() -> None:
    variables = [str(field.alias) for field in Settings.model_fields.values()]

    assert {"NOVITA_API_KEY", "PORT", "OSTLER_DATA_DIR"} <= set(variables)
    assert all(reaches_ostler(variable) for variable in [*variables, "OSTLER_ANYTHING", "https_proxy"])
    assert not [variable for variable in variables if variable in os.environ]


@pytest.mark.parametrize(
    "variable", ["PATH", "HOME", "OSTLER_TEST_REQUIRE", "OSTLER_TEST_POSTGRES_URL", "CI"]
)
def test_what_is_not_ostlers_reaches_a_test(variable: str) -> None:
    assert not reaches_ostler(variable)


def test_a_test_carries_the_mark_of_its_folder(request: pytest.FixtureRequest) -> None:
    marks = {mark.name for mark in request.node.iter_markers()}

    assert marks & set(TIERS) == {"architecture"}


def test_no_test_finds_an_event_loop_that_it_did_not_make() -> None:
    with pytest.raises(RuntimeError, match="no current event loop"):
        asyncio.get_event_loop_policy().get_event_loop()
