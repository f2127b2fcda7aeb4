"""Login links, and the cookie that holds a session's token.

A *login link* is printed once at start and works once; it signs in as the administrator.
"""

import secrets
from datetime import datetime, timedelta

from starlette.datastructures import Headers

from ostler.clock import Clock
from ostler.domain.keys import digest_of

COOKIE = "ostler_session"
LINK_LIFE = timedelta(minutes=30)


class LoginLinks:
    """One-time tokens, held in memory: a restart prints a new one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[bytes, datetime] = {}

    def issue(self) -> str:
        """Return a token that lets one browser in, once."""
        token = secrets.token_urlsafe(32)
        self._ends[digest_of(token)] = self._clock.now() + LINK_LIFE
        return token

    def redeem(self, token: str) -> bool:
        """Tell whether the token is good, and use it up."""
        end = self._ends.pop(digest_of(token), None)
        return end is not None and self._clock.now() < end


def session_token(headers: Headers) -> str:
    """Return what stands in the session cookie, or nothing.

    Other programs of this host have cookies of their own, which may be no good ones: they are passed over. Of
    several that have our name the last one counts, whose path is the shortest: that of ours. Nothing is
    unquoted, for no token of ours is quoted, and the standard library takes seconds over a quoted one.
    """
    pairs = (each.partition("=") for each in ";".join(headers.getlist("cookie")).split(";"))
    found = [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
    return found[-1] if found else ""
