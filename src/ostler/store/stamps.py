"""Stamps: by them a process knows, without asking its database, that rows are as they were.

Only where no other process writes. A *stamp* counts the changes of instances (and of what is told with them)
that the one writer has committed. While a commit that changes something is under way there is no stamp of it,
so that nobody who has seen the rows after it is then shown what was before. Written by the writer's thread,
read on the event loop.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from zlib import crc32

_BUCKETS = 256  # instances share a count: seldom a stamp changes for what happened to another one


class Stamps:
    """Counts the changes of each instance, and of all."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._all = 0
        self._under_way: frozenset[int] = frozenset()

    def of(self, subject: str) -> int | None:
        """Return the stamp of one instance; None while it may be changing."""
        bucket = _bucket(subject)
        count = self._counts[bucket]  # and only then what is under way: a change ends the other way round
        return None if bucket in self._under_way else count

    def of_all(self) -> int | None:
        """Return the stamp of all instances; None while any may be changing."""
        count = self._all
        return None if self._under_way else count

    @contextmanager
    def changing(self, subjects: Collection[str]) -> Iterator[None]:
        """Count a change of these; the block is its commit."""
        if not subjects:
            yield
            return
        buckets = frozenset(_bucket(subject) for subject in subjects)
        self._under_way = buckets
        try:
            yield
        finally:
            for bucket in buckets:
                self._counts[bucket] += 1
            self._all += 1
            self._under_way = frozenset()


def _bucket(subject: str) -> int:
    return crc32(subject.encode()) % _BUCKETS
