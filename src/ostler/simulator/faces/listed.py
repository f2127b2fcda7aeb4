"""Which instances a list shows, for both faces: an account's, as far as lists have noticed, and filtered.

A fleet may be large: what lists have not noticed yet is little, and is put in its place without a look at
all the others.
"""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from ostler.simulator.instance import Instance
from ostler.simulator.world import INSTANCES, World

_NUMBER = attrgetter("number")


def known_to_lists(world: World, account: str) -> Sequence[Instance]:
    """Return an account's instances as lists show them, oldest first."""
    members = world.fleet(account).members
    formers = world.formers(INSTANCES)
    if not formers:
        return members
    present = {key: former or world.instances.get(key) for key, former in formers.items()}
    late = {
        each.number: formers[key]
        for key, each in present.items()
        if each is not None and each.account == account
    }
    shown: list[Instance] = []
    taken = 0
    for number in sorted(late):
        place = bisect_left(members, number, lo=taken, key=_NUMBER)
        shown += members[taken:place]
        former = late[number]
        if former is not None:
            shown.append(former)
        taken = place + (place < len(members) and members[place].number == number)
    return [*shown, *members[taken:]]


def shown_in(instances: Sequence[Instance], status: str) -> Sequence[Instance]:
    """Return those that lists show in a status; in all if it is empty."""
    return [each for each in instances if each.status == status] if status else instances
