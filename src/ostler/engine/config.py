"""The engine's figures, in one value that the assembly makes.

The defaults are the design's.
"""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How one process works: who it is, how much at once, how long things hold."""

    owner: str  # this run of this process; never used again by another
    slots: int = 10  # bodies at once of what was claimed by the poll (MAX_CONCURRENT_JOBS)
    accepted_slots: int = 128  # bodies at once of what this process accepted; beyond them jobs queue
    term: timedelta = timedelta(seconds=15)  # of a lease; renewed at a third of it
    shortest_poll: timedelta = timedelta(seconds=0.5)
    longest_poll: timedelta = timedelta(seconds=2)
    leader_term: timedelta = timedelta(seconds=12)  # so that another leads within 15 s
    grace: timedelta = timedelta(seconds=4)  # how long a stop lets bodies finish before it hands them back
    kept_for: timedelta = timedelta(hours=24)  # how long finished jobs stay to be looked at
    seed: int | None = None  # of the spreading of polls and retries; given in tests

    @property
    def slots_for_all(self) -> int:
        """The slots that LOW and NORMAL work may fill; the rest is kept for HIGH."""
        return max(1, self.slots - max(1, self.slots // 5))
