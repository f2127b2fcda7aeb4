"""A *bucket* holds the tokens of a rate limit: it fills at a steady rate up to its capacity.

Arithmetic only: the caller says what time it is, asks how long until there are enough tokens, takes them, and
gives one back when it was not used. Those three together are why this is not a library (decision 0005).
"""

from dataclasses import dataclass

_SLACK = 1e-4  # of a token: what a timer that rings a microsecond early leaves to be desired


@dataclass(slots=True)
class Bucket:
    """Starts full."""

    capacity: float
    per_second: float
    _tokens: float = 0.0
    _counted_at: float | None = None

    def seconds_until(self, tokens: float, now: float) -> float:
        """Return how long it takes until so many are there; 0 when they are."""
        self._fill(now)
        missing = tokens - self._tokens
        return 0.0 if missing <= _SLACK else missing / self.per_second

    def take(self, now: float) -> None:
        """Take one token; the caller has seen that it is there."""
        self._fill(now)
        self._tokens -= 1

    def give_back(self) -> None:
        """Return a token that was not used."""
        self._tokens = min(self.capacity, self._tokens + 1)

    def _fill(self, now: float) -> None:
        if self._counted_at is None:
            self._tokens = self.capacity
        else:
            gained = (now - self._counted_at) * self.per_second
            self._tokens = min(self.capacity, self._tokens + gained)
        self._counted_at = now
