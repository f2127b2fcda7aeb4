"""Counting the calls that the pretend cloud gets: per route and answer, in flight, and the last of them.

A test learns from it what a client really sent, and when.
"""

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ostler.simulator.clock import monotonic, wall_time

LOG_LENGTH = 10_000
NO_ANSWER = "none"


@dataclass(slots=True)
class CallRecord:
    """One call; `at` is real unix time."""

    at: float
    route: str
    path: str
    answer: str = NO_ANSWER
    milliseconds: float = 0.0


@dataclass(slots=True)
class CallBook:
    """All counts since the last reset."""

    total: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    by_route: Counter[str] = field(default_factory=Counter)
    by_answer: dict[str, Counter[str]] = field(default_factory=dict)
    log: deque[CallRecord] = field(default_factory=lambda: deque(maxlen=LOG_LENGTH))

    @contextmanager
    def counting(self, route: str, path: str) -> Iterator[CallRecord]:
        """Count a call for as long as it is in flight; who answers it notes the answer in the record."""
        record = CallRecord(at=wall_time(), route=route, path=path)
        began = monotonic()
        self.total += 1
        self.by_route[route] += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        self.log.append(record)
        try:
            yield record
        finally:
            self.in_flight -= 1
            record.milliseconds = (monotonic() - began) * 1000
            self.by_answer.setdefault(route, Counter())[record.answer] += 1

    def reset(self) -> None:
        """Forget all counts but what is in flight."""
        self.total = 0
        self.max_in_flight = self.in_flight
        self.by_route.clear()
        self.by_answer.clear()
        self.log.clear()
