"""*Faults*: how the pretend cloud misbehaves towards its callers, when a test asks for it.

A fault names the routes it spoils and how often: the next N calls, or a share of all (by a seeded source,
so that a run can be repeated). What happens inside the cloud, such as an image that is never pulled, is a
fate (`fate.py`).
"""

import random
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase

from ostler.simulator.exchange import (
    ErrorBody,
    Hangup,
    Outcome,
    Reply,
    Silence,
    gateway_reply,
    refusal_reply,
)
from ostler.simulator.refusal import Refusal, no_capacity


class FaultKind(StrEnum):
    """What goes wrong."""

    LATENCY = "latency"  # the answer is right, `seconds` late; goes together with any other fault
    RATE_LIMIT = "rateLimit"  # 429, with Retry-After if `retryAfter` is given; no effect
    STATUS = "status"  # a gateway's or server's error page with `status`; after the effect if `after`
    REFUSAL = "refusal"  # an envelope with `status`, `reason`, `message`; after the effect if `after`
    NO_CAPACITY = "noCapacity"  # INSUFFICIENT_RESOURCE though the shelf is full; no effect
    RESET_BEFORE = "resetBefore"  # the connection is reset; no effect
    RESET_AFTER = "resetAfter"  # the connection is reset; the effect happened
    TIMEOUT_BEFORE = "timeoutBefore"  # no answer ever; no effect
    TIMEOUT_AFTER = "timeoutAfter"  # no answer ever; the effect happened
    MALFORMED_JSON = "malformedJson"  # 200 with half of the JSON; the effect happened
    LATE_IN_LISTS = "lateInLists"  # a right answer; lists show the effect `seconds` later


_WITHOUT_EFFECT = frozenset(
    {FaultKind.RATE_LIMIT, FaultKind.NO_CAPACITY, FaultKind.RESET_BEFORE, FaultKind.TIMEOUT_BEFORE}
)
_GATEWAY = {502: "Bad Gateway", 503: "Service Temporarily Unavailable", 504: "Gateway Time-out"}


@dataclass(slots=True)
class Fault:
    """One fault that waits for calls."""

    id: int
    kind: FaultKind
    route: str = "*"  # a glob over `METHOD /path`
    times: int | None = 1  # how many calls it still spoils; None: without end
    share: float = 1.0  # of the calls that it could spoil
    seconds: float = 0.0
    status: int = 502
    reason: str = "UNKNOWN"
    message: str = "unknown error"
    after: bool = False
    retry_after: int | None = None
    body: ErrorBody | None = None  # the form of an error; None: the usual one of its kind
    hits: int = 0

    @property
    def takes_effect(self) -> bool:
        """Tell whether the call is carried out all the same."""
        if self.kind in {FaultKind.STATUS, FaultKind.REFUSAL}:
            return self.after
        return self.kind not in _WITHOUT_EFFECT

    def spoil(self, reply: Reply | None) -> Outcome:
        """Return what the caller gets instead of the right answer, which is there if the effect happened."""
        match self.kind:
            case FaultKind.RESET_BEFORE | FaultKind.RESET_AFTER:
                return Hangup()
            case FaultKind.TIMEOUT_BEFORE | FaultKind.TIMEOUT_AFTER:
                return Silence()
            case FaultKind.RATE_LIMIT | FaultKind.NO_CAPACITY | FaultKind.REFUSAL | FaultKind.STATUS:
                return self._error_page()
            case FaultKind.MALFORMED_JSON | FaultKind.LATE_IN_LISTS | FaultKind.LATENCY:
                whole = reply or Reply(200, b"{}")
                return _cut(whole) if self.kind is FaultKind.MALFORMED_JSON else whole

    def _error_page(self) -> Reply:
        form = self.body or ErrorBody.ENVELOPE
        if self.kind is FaultKind.RATE_LIMIT:
            limited = Refusal(429, reason="RATE_LIMIT_EXCEEDED", message="rate limit exceeded")
            wait = () if self.retry_after is None else (("retry-after", str(self.retry_after)),)
            return replace(refusal_reply(limited, form), headers=wait)
        if self.kind is FaultKind.NO_CAPACITY:
            return refusal_reply(no_capacity(), form)
        if self.kind is FaultKind.STATUS and self.status in _GATEWAY and self.body is None:
            return gateway_reply(self.status, _GATEWAY[self.status])
        return refusal_reply(Refusal(self.status, self.reason, self.message), form)


def _cut(reply: Reply) -> Reply:
    return Reply(reply.status, reply.body[: max(1, len(reply.body) // 2)], reply.headers)


class FaultBook:
    """The faults that wait, in the order in which they were asked for."""

    def __init__(self, seed: int = 0) -> None:
        self._faults: dict[int, Fault] = {}
        self._dice = random.Random(seed)  # noqa: S311 -- decides which calls a test spoils, no secrets
        self._last_id = 0

    def next_id(self) -> int:
        """Return the number of the next fault."""
        self._last_id += 1
        return self._last_id

    def add(self, fault: Fault) -> None:
        """Let a fault wait for calls."""
        self._faults[fault.id] = fault

    def all(self) -> list[Fault]:
        """Return what waits."""
        return list(self._faults.values())

    def take_back(self, fault_id: int) -> bool:
        """Take back one fault; tell whether it was still waiting."""
        return self._faults.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Take back all."""
        self._faults.clear()

    def reseed(self, seed: int) -> None:
        """Make the shares of what follows repeatable."""
        self._dice.seed(seed)

    def draw(self, names: tuple[str, ...]) -> list[Fault]:
        """Return what strikes a call that goes by these names: any latency, and at most one other."""
        struck: list[Fault] = []
        for fault in self.all():
            if (
                any(fault.kind is not FaultKind.LATENCY for fault in struck)
                and fault.kind is not FaultKind.LATENCY
            ):
                continue
            if any(fnmatchcase(name, fault.route) for name in names) and self._dice.random() < fault.share:
                self._count(fault)
                struck.append(fault)
        return struck

    def _count(self, fault: Fault) -> None:
        fault.hits += 1
        if fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                del self._faults[fault.id]
