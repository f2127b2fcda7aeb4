"""What the cloud refused: the one tree of errors that the port raises; all but Ambiguous changed nothing.

CloudRefusal ─┬─ NoCapacity · Refused(reason) · InvalidState · Gone: what it said about the order
              ├─ Unauthorized · RateLimited(retry_after_s) ── Silenced(until): what it said about us
              ├─ Unavailable ── CircuitOpen(next_try_at) · TimedOut: no answer, after all retries
              ├─ TooLate · Queued(retry_after_s): never sent
              ├─ Malformed: an answer to a read that cannot be read; names the field and what was seen
              └─ Ambiguous: a write whose effect is unknown; it is no failure: look before doing it again
"""

from datetime import datetime
from enum import StrEnum


class RefusalReason(StrEnum):
    """Why the cloud declined, as far as it matters for what to do next."""

    BALANCE = "balance"  # no money
    QUOTA = "quota"  # the account's limits
    IMAGE = "image"  # missing or too large
    REGISTRY = "registry"  # the image's registry, or the credentials for it, were not accepted
    VALIDATION = "validation"  # a parameter is wrong
    PLACEMENT = "placement"  # this machine, cluster or CUDA version cannot: another offer may
    STORAGE = "storage"  # network or local storage
    SUBSCRIPTION = "subscription"  # billing mode, or a prepaid term that has not ended
    FORBIDDEN = "forbidden"  # the account may not do this
    CONFLICT = "conflict"  # something else is under way
    OTHER = "other"  # a reason that we do not know

    @property
    def may_another_offer_help(self) -> bool:
        """Tell whether the same order may be accepted elsewhere."""
        return self is RefusalReason.PLACEMENT


class CloudRefusal(Exception):  # noqa: N818 -- most refusals are answers, not errors of the program
    """The call did not do what was asked; `operation` is our name of the call, `told` why, for people."""

    def __init__(self, operation: str, told: str) -> None:
        super().__init__(f"{operation}: {told}")
        self.operation = operation
        self.told = told


class NoCapacity(CloudRefusal):
    """The offer is sold out just now."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation, "the cloud has no capacity left for this")


class Refused(CloudRefusal):
    """The cloud understood the call and declined it."""

    def __init__(self, operation: str, reason: RefusalReason, code: str, said: str) -> None:
        super().__init__(operation, f"refused ({reason}, {code or 'no code'}): {said or 'no explanation'}")
        self.reason = reason
        self.code = code
        self.said = said


class InvalidState(CloudRefusal):
    """The verb does not fit the state that the instance is in."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation, "not possible in the instance's present state")


class Gone(CloudRefusal):
    """The cloud says that the thing does not exist; `observed_at` is when the answered request began."""

    def __init__(self, operation: str, subject: str, observed_at: datetime) -> None:
        super().__init__(operation, f"the cloud knows no {subject}")
        self.subject = subject
        self.observed_at = observed_at


class Unauthorized(CloudRefusal):
    """The cloud does not accept our key."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation, "the cloud does not accept the API key")


class RateLimited(CloudRefusal):
    """Too many calls; on a create it may be a quota in disguise."""

    def __init__(self, operation: str, retry_after_s: float | None, told: str = "") -> None:
        when = "" if retry_after_s is None else f", asks to wait {retry_after_s:g} s"
        super().__init__(operation, told or f"the cloud limits our calls{when}")
        self.retry_after_s = retry_after_s


class Silenced(RateLimited):
    """Not sent: the cloud has asked for silence, and nobody waits that long."""

    def __init__(self, operation: str, until: datetime, retry_after_s: float) -> None:
        told = f"not sent, since the cloud asks us to wait until {until:%H:%M:%S} UTC"
        super().__init__(operation, retry_after_s, told)
        self.until = until


class Queued(CloudRefusal):
    """Not sent yet: the calls before it have used up what we allow ourselves."""

    def __init__(self, operation: str, calls: int, retry_after_s: float) -> None:
        wait = "calls wait" if calls > 1 else "call waits"
        super().__init__(operation, f"not sent yet: {calls} {wait} for the limit of calls to the cloud")
        self.retry_after_s = retry_after_s


class Unavailable(CloudRefusal):
    """The cloud was not reached, or failed, and nothing was changed by this call."""

    def __init__(self, operation: str, seen: str, retry_after_s: float | None = None) -> None:
        super().__init__(operation, f"the cloud is unavailable: {seen}")
        self.seen = seen
        self.retry_after_s = retry_after_s


class CircuitOpen(Unavailable):
    """The breaker let the call not even try."""

    def __init__(self, operation: str, next_try_at: datetime) -> None:
        super().__init__(operation, f"circuit breaker open, next try at {next_try_at:%H:%M:%S} UTC")
        self.next_try_at = next_try_at


class TimedOut(Unavailable):
    """No answer came in time."""


class TooLate(CloudRefusal):
    """The call was not sent, because its time was over when its turn came."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation, "not sent: its time was over when its turn came")


class Malformed(CloudRefusal):
    """The answer to a read cannot be read; for a write this is Ambiguous instead."""

    def __init__(self, operation: str, field: str, seen: str) -> None:
        super().__init__(operation, f"cannot read the cloud's answer: {field} is {seen}")
        self.field = field
        self.seen = seen


class Ambiguous(CloudRefusal):
    """The write may have happened or not, and only looking can tell."""

    def __init__(self, operation: str, seen: str) -> None:
        super().__init__(operation, f"effect unknown, it may have happened: {seen}")
        self.seen = seen
