"""The order of a fleet: whatever comes and goes, and however often something comes back.

A list, its pages, its cursors and its filters rest on it.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ostler.simulator.fleet import Fleet, Grouped, Search, Wanted
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import Mode
from ostler.simulator.status import Status
from tests.support.simulator import EPOCH, a_simulated_instance

SOME = a_simulated_instance(new_world(EPOCH))
GROUPED: st.SearchStrategy[Grouped] = st.sampled_from(["status", "mode", "product_id"])
STATUSES = [Status.RUNNING, Status.EXITED, Status.PULLING]


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


@given(
    kinds=st.lists(
        st.tuples(st.sampled_from(["Alpha", "beta", "ALPHA beta", "ß"]), st.sampled_from(STATUSES)),
        max_size=12,
    ),
    moves=st.lists(st.tuples(st.integers(0, 11), st.sampled_from(STATUSES))),
    among=st.dictionaries(
        GROUPED, st.frozensets(st.sampled_from([*STATUSES, *Mode, SOME.product_id, "other"]))
    ),
    search=st.none()
    | st.builds(Search, st.sampled_from(["alpha", "BETA", "ha b", "SS", "a1"]), st.booleans()),
    coming=st.integers(0, 12),
)
def test_a_selection_finds_exactly_those_that_fit(
    kinds: list[tuple[str, Status]],
    moves: list[tuple[int, Status]],
    among: dict[Grouped, frozenset[str]],
    search: Search | None,
    coming: int,
) -> None:
    members = [
        replace(SOME, number=number, id=f"a{number}", name=name, status=status)
        for number, (name, status) in enumerate(kinds)
    ]
    fleet, wanted = Fleet(members[coming:]), Wanted(among, search)
    fleet.found(wanted)  # from now on it remembers the search
    for each in members[:coming]:
        fleet.add(each)
    for number, status in moves:
        if number < len(members):
            before, members[number].status = members[number].status, status
            fleet.regroup(members[number], "status", before)
    for each in members[::3]:
        fleet.remove(each)
        members.remove(each)

    found = fleet.found(wanted)

    assert [each.id for each in found] == [each.id for each in members if wanted.fits(each)]
