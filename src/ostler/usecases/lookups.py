"""Counts of reads by whether what they showed was fresh.

A *hit* showed what the cloud had confirmed within the last 30 seconds; a *miss* showed something older.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Lookups:
    """Counts since the process began. Lives on the event loop."""

    hits: int = 0
    misses: int = 0

    def count(self, *, is_fresh: bool) -> None:
        """Count one read."""
        if is_fresh:
            self.hits += 1
        else:
            self.misses += 1
