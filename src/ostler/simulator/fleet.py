"""A *fleet*: the instances of one account, from old to new, such that any page of them is found at once.

What is listed of it, and under which filters, is decided by the faces.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from ostler.simulator.instance import Instance

_NUMBER = attrgetter("number")


class Fleet:
    """Some instances in the order of their numbers, which is that of their creation."""

    def __init__(self, instances: Iterable[Instance] = ()) -> None:
        self._members = sorted(instances, key=_NUMBER)

    @property
    def members(self) -> Sequence[Instance]:
        """All of them, oldest first."""
        return self._members

    def add(self, instance: Instance) -> None:
        """Let an instance be one of them."""
        self._members.insert(self._place_of(instance), instance)

    def remove(self, instance: Instance) -> None:
        """Let an instance be none of them any more."""
        del self._members[self._place_of(instance)]

    def __iter__(self) -> Iterator[Instance]:
        return iter(self._members)

    def __contains__(self, instance: Instance) -> bool:
        place = self._place_of(instance)
        return self._members[place : place + 1] == [instance]

    def _place_of(self, instance: Instance) -> int:
        return bisect_left(self._members, instance.number, key=_NUMBER)
