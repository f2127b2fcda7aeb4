"""A *health policy*: how to find out whether the application inside an instance answers.

A value only: its defaults are the settings' defaults, its limits stand in `health_requests.py`, and what an
answer means is judged by `readiness.py`.
"""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """How the endpoints of one start are checked."""

    target_port: int | None = None  # None: every exposed port
    path: str = "/"
    expect_status: frozenset[int] = frozenset()  # empty: any below 400
    timeout: timedelta = timedelta(seconds=10)  # of one probe
    retry_attempts: int = 3
    retry_delay: timedelta = timedelta(seconds=2)
    max_wait: timedelta = timedelta(minutes=5)  # until all are healthy
    interval: timedelta = timedelta(seconds=60)  # between probes while ready; zero: never
