"""Which instances a list shows, for both faces: those wanted of an account, as far as lists have noticed.

A fleet may be large: what lists have not noticed yet is little, and is put in its place without a look at
all the others.
"""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from ostler.simulator.fleet import Wanted
from ostler.simulator.instance import Instance
from ostler.simulator.world import INSTANCES, World

_NUMBER = attrgetter("number")


def shown_of(world: World, account: str, wanted: Wanted) -> Sequence[Instance]:
    """Return the wanted instances of an account as lists show them, oldest first."""
    found = world.fleet(account).found(wanted)
    formers = world.formers(INSTANCES)
    if not formers:
        return found
    unnoticed = {
        each.number: former
        for key, former in formers.items()
        if (each := former or world.instances.get(key)) is not None and each.account == account
    }
    shown: list[Instance] = []
    taken = 0
    for number in sorted(unnoticed):
        place = bisect_left(found, number, lo=taken, key=_NUMBER)
        shown += found[taken:place]
        former = unnoticed[number]
        if former is not None and wanted.fits(former):
            shown.append(former)
        taken = place + (place < len(found) and found[place].number == number)
    return [*shown, *found[taken:]]
