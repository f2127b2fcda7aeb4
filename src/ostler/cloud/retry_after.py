"""`Retry-After`: how long a server asks to wait, as seconds or as a date (RFC 9110, 10.2.3).

Arithmetic only: who waits, and whether for so long, is the caller's business. What is beyond a day is told as
a day: no clock can add what somebody may write there.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_S = 86_400.0


def seconds_asked(header: str | None, now: datetime) -> float | None:
    """Return the seconds to wait, or None when the header is missing or makes no sense."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_S)
    then = instant_told(text)
    return None if then is None else min(max(0.0, (then - now).total_seconds()), LONGEST_S)


def instant_told(header: str | None) -> datetime | None:
    """Return the instant of a header that carries a date, or None when it is missing or makes no sense."""
    try:
        then = parsedate_to_datetime(header or "")
    except (ValueError, OverflowError):
        return None
    return then.replace(tzinfo=UTC) if then.tzinfo is None else then
