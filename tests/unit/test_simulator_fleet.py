"""The order of a fleet: whatever comes and goes, and however often something comes back.

A list, its pages and its cursors rest on it.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ostler.simulator.fleet import Fleet
from ostler.simulator.genesis import new_world
from tests.support.simulator import EPOCH, a_simulated_instance

SOME = a_simulated_instance(new_world(EPOCH))


@given(steps=st.lists(st.integers(1, 30)))
def test_a_fleet_is_in_the_order_of_creation_whatever_comes_and_goes(steps: list[int]) -> None:
    fleet, expected = Fleet(), set[int]()
    for number in steps:
        instance = replace(SOME, number=number)
        assert (instance in fleet) is (number in expected)
        if number in expected:
            fleet.remove(instance)
        else:
            fleet.add(instance)
        expected ^= {number}

    assert [each.number for each in fleet] == sorted(expected)
