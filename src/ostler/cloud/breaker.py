"""The circuit breaker: stops calling a cloud that stays unavailable, and finds out when it is back.

It counts operations after their retries: so many in a row that ended unavailable open it. Open, it lets
nothing through until the recovery time is over, then exactly one probe. What must not wait (a user's stop or
delete, the look-up after an ambiguous create) may probe earlier, at most once in two seconds.
The automaton is interlock's; this module is the seam before it and what can be observed of it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf
from typing import Protocol, TypeVar

import interlock

from ostler.clock import Clock
from ostler.cloud.refusals import Ambiguous, CircuitOpen, CloudRefusal, TooLate, Unavailable

T = TypeVar("T")

EARLY_PROBE_INTERVAL_S = 2.0


class BreakerState(StrEnum):
    """What happens to a call now."""

    CLOSED = "closed"  # goes through
    OPEN = "open"  # is refused until `next_try_at`
    HALF_OPEN = "half_open"  # one probe goes through, the rest is refused


@dataclass(frozen=True, slots=True)
class BreakerSnapshot:
    """What can be seen of a breaker at one instant."""

    name: str
    state: BreakerState
    failures_in_a_row: int
    times_opened: int
    calls_refused: int
    next_try_at: datetime | None  # None while closed


class Breaker(Protocol):
    """The seam: how the transport uses a breaker."""

    async def run(self, operation: str, call: Callable[[], Awaitable[T]], *, is_urgent: bool) -> T:
        """Run the call or raise CircuitOpen; learn from how it ended."""
        ...

    def is_closed(self) -> bool:
        """Tell whether calls go through freely, so that one may be tried again."""
        ...

    def snapshot(self) -> BreakerSnapshot:
        """Return what can be seen of it now."""
        ...


class InterlockBreaker:
    """A Breaker on interlock's automaton."""

    def __init__(self, name: str, failures: int, recovery_s: float, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._recovery_s = recovery_s
        self._failures_in_a_row = 0
        self._times_opened = 0
        self._calls_refused = 0
        self._opened_at = 0.0
        self._last_early_probe_at = -inf
        self._circuit = interlock.CircuitBreaker(
            name=name,
            config=interlock.Config(
                # the last `failures` operations, all of them: that is "in a row"
                window_size=failures,
                minimum_number_of_calls=failures,
                failure_rate_threshold=1.0,
                slow_call_duration_threshold=inf,  # slowness has its own limit, the timeout
                wait_duration_in_open=recovery_s,
                permitted_calls_in_half_open=1,
                max_concurrent_probes=1,
            ),
            clock=clock,
            classifier=_OnlyUnavailability(),
            listener=self,
            unreachable_exceptions=(TooLate,),  # a probe that was never sent has shown nothing
        )

    async def run(self, operation: str, call: Callable[[], Awaitable[T]], *, is_urgent: bool) -> T:
        """Run the call or raise CircuitOpen; learn from how it ended."""
        try:
            return await self._circuit.call_async(call)
        except interlock.CircuitOpenError as error:
            if not (is_urgent and self._may_probe_early()):
                self._calls_refused += 1
                raise CircuitOpen(operation, self._next_try_at()) from error
        return await self._probe_early(call)

    def is_closed(self) -> bool:
        """Tell whether calls go through freely, so that one may be tried again."""
        return self._circuit.state is interlock.State.CLOSED

    def snapshot(self) -> BreakerSnapshot:
        """Return what can be seen of it now."""
        state = self._state()
        return BreakerSnapshot(
            name=self._name,
            state=state,
            failures_in_a_row=self._failures_in_a_row,
            times_opened=self._times_opened,
            calls_refused=self._calls_refused,
            next_try_at=None if state is BreakerState.CLOSED else self._next_try_at(),
        )

    def on_state_change(self, *, name: str, old: interlock.State, new: interlock.State) -> None:  # noqa: ARG002 -- the listener's signature
        """Note when it opened (called by interlock)."""
        if new is interlock.State.OPEN:
            self._times_opened += 1
            self._opened_at = self._clock.monotonic()
        elif new is interlock.State.CLOSED:
            self._failures_in_a_row = 0

    def on_call(self, *, name: str, outcome: interlock.Outcome, duration: float) -> None:  # noqa: ARG002 -- the listener's signature
        """Count the failures in a row (called by interlock)."""
        self._failures_in_a_row = self._failures_in_a_row + 1 if outcome.is_failure else 0

    def on_rejected(self, *, name: str) -> None:
        """Nothing: `run` counts what stays refused (called by interlock)."""

    def on_reset(self, *, name: str) -> None:
        """Nothing: the change of state says it all (called by interlock)."""

    def _may_probe_early(self) -> bool:
        now = self._clock.monotonic()
        if now - self._last_early_probe_at < EARLY_PROBE_INTERVAL_S:
            return False
        self._last_early_probe_at = now
        return True

    async def _probe_early(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run the call past the open circuit; any answer of the cloud closes it."""
        try:
            result = await call()
        except (Unavailable, Ambiguous, TooLate):
            raise
        except CloudRefusal:
            self._circuit.reset()
            raise
        self._circuit.reset()
        return result

    def _state(self) -> BreakerState:
        match self._circuit.state:
            case interlock.State.CLOSED:
                return BreakerState.CLOSED
            case interlock.State.OPEN if self._remaining_s() > 0:
                return BreakerState.OPEN
            case _:  # interlock turns half-open with the next call; for an observer it is already
                return BreakerState.HALF_OPEN

    def _remaining_s(self) -> float:
        return max(0.0, self._opened_at + self._recovery_s - self._clock.monotonic())

    def _next_try_at(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._remaining_s())


class _OnlyUnavailability:
    """Tells interlock what a failure is: no answer at all. A refusal is an answer, and so is a 429."""

    def is_failure(self, *, result: object, exception: Exception | None) -> bool:  # noqa: ARG002 -- interlock's signature
        return isinstance(exception, Unavailable | Ambiguous)
