"""What the *application* inside an instance answers, as a script that a test can set.

By default it is ready as soon as the instance runs. `doorway.py` plays the script over HTTP; this module
only says what is to be answered at a given age of the run, so that it can be tested without a socket.
"""

from dataclasses import dataclass
from enum import StrEnum


class AppMood(StrEnum):
    """How the application behaves once its time has come; before that, the gateway answers for it."""

    READY = "ready"  # 200 and a body
    NEVER = "never"  # it never listens: the gateway's 502 for good
    ERROR_BODY = "errorBody"  # 200 with the page of a broken gateway
    SLOW = "slow"  # answers after `delay_s`
    TLS_FAILURE = "tlsFailure"  # the endpoint speaks a TLS that nobody trusts
    REFUSED = "refused"  # nothing listens at the endpoint: connection refused
    RESET = "reset"  # the connection is reset after the request


@dataclass(frozen=True, slots=True)
class AppScript:
    """The behaviour of one instance's application, counted from the start of each run."""

    mood: AppMood = AppMood.READY
    ready_after_s: float = 0.0  # of the world's clock
    delay_s: float = 0.0  # real seconds before an answer
    status: int = 200
    body: str = "ok"

    def listens(self, running_for_s: float) -> bool:
        """Tell whether the application answers at this age of the run."""
        return self.mood is not AppMood.NEVER and running_for_s >= self.ready_after_s
