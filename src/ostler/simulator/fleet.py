"""A *fleet*: the instances of one account, from old to new, with any page of any selection soon found.

A fleet may have a hundred thousand. So what has the same status, product, cluster or mode is kept apart, and
what was searched for lately is remembered; both follow who comes, goes and changes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter
from typing import Literal

from ostler.simulator.instance import Instance

Grouped = Literal["status", "product_id", "cluster_id", "mode"]

_GROUPED: tuple[Grouped, ...] = ("status", "product_id", "cluster_id", "mode")
_NUMBER = attrgetter("number")
_SEARCHES_KEPT = 16


@dataclass(frozen=True, slots=True)
class Search:
    """A word in the name, in any case of letters, or as well in the id."""

    word: str
    in_ids_too: bool = False

    def fits(self, instance: Instance) -> bool:
        """Tell whether an instance has the word."""
        return self.word.casefold() in _text(instance, in_ids_too=self.in_ids_too)


def _text(instance: Instance, *, in_ids_too: bool) -> str:
    name = instance.name.casefold()
    return f"{name}\0{instance.id}" if in_ids_too else name


@dataclass(frozen=True, slots=True)
class Wanted:
    """A selection: every attribute named here has one of its values, and the search fits."""

    among: Mapping[Grouped, frozenset[str]] = field(default_factory=dict)
    search: Search | None = None

    def fits(self, instance: Instance) -> bool:
        """Tell whether one instance is wanted."""
        is_among = all(getattr(instance, name) in values for name, values in self.among.items())
        return is_among and (self.search is None or self.search.fits(instance))


class Fleet:
    """Some instances in the order of their numbers, which is that of their creation."""

    def __init__(self, instances: Iterable[Instance] = ()) -> None:
        self._members: list[Instance] = []
        self._texts: dict[bool, list[str]] = {False: [], True: []}  # of the members, without and with ids
        self._groups: dict[tuple[Grouped, str], list[Instance]] = {}
        self._searches: dict[Search, list[Instance]] = {}
        for instance in instances:
            self.add(instance)

    def add(self, instance: Instance) -> None:
        """Let an instance be one of them."""
        place = _place(self._members, instance)
        self._members.insert(place, instance)
        for in_ids_too, texts in self._texts.items():
            texts.insert(place, _text(instance, in_ids_too=in_ids_too))
        for name in _GROUPED:
            _insert(self._group(name, getattr(instance, name)), instance)
        for search, found in self._searches.items():
            if search.fits(instance):
                _insert(found, instance)

    def remove(self, instance: Instance) -> None:
        """Let an instance be none of them any more."""
        place = _place(self._members, instance)
        del self._members[place]
        for texts in self._texts.values():
            del texts[place]
        for name in _GROUPED:
            _remove(self._group(name, getattr(instance, name)), instance)
        for search, found in self._searches.items():
            if search.fits(instance):
                _remove(found, instance)

    def regroup(self, instance: Instance, name: Grouped, before: str) -> None:
        """Take note that an attribute of an instance was another before."""
        if instance in self:
            _remove(self._group(name, before), instance)
            _insert(self._group(name, getattr(instance, name)), instance)

    def found(self, wanted: Wanted) -> Sequence[Instance]:
        """Return those that are wanted, oldest first."""
        narrow = {
            name: [value for value in values if self._groups.get((name, value))]
            for name, values in wanted.among.items()
        }
        if not all(narrow.values()):
            return []
        found: Sequence[Instance] = self._members
        single = next((name for name, values in narrow.items() if len(values) == 1), None)
        if wanted.search is not None:
            found = self._searched(wanted.search)
        elif single is not None:
            found = self._group(single, *narrow.pop(single))
        for name, values in narrow.items():
            found = list(compress(found, map(frozenset(values).__contains__, map(attrgetter(name), found))))
        return found

    def _searched(self, search: Search) -> list[Instance]:
        if search not in self._searches:
            if len(self._searches) == _SEARCHES_KEPT:
                del self._searches[next(iter(self._searches))]
            word, texts = search.word.casefold(), self._texts[search.in_ids_too]
            self._searches[search] = list(compress(self._members, [word in text for text in texts]))
        return self._searches[search]

    def _group(self, name: Grouped, value: str) -> list[Instance]:
        return self._groups.setdefault((name, value), [])

    def __iter__(self) -> Iterator[Instance]:
        return iter(self._members)

    def __contains__(self, instance: Instance) -> bool:
        place = _place(self._members, instance)
        return self._members[place : place + 1] == [instance]


def _place(among: Sequence[Instance], instance: Instance) -> int:
    if not among or among[-1].number < instance.number:
        return len(among)
    return bisect_left(among, instance.number, key=_NUMBER)


def _insert(among: list[Instance], instance: Instance) -> None:
    among.insert(_place(among, instance), instance)


def _remove(among: list[Instance], instance: Instance) -> None:
    del among[_place(among, instance)]
