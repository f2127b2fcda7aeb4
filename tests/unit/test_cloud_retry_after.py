"""`Retry-After` in both of its forms, and in none."""

from datetime import UTC, datetime

import pytest

from ostler.cloud.retry_after import seconds_asked

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30),
        ("Sunday, 01-Mar-26 12:00:30 GMT", 30),
        ("Sun, 01 Mar 2026 11:59:00 GMT", 0),
        ("9" * 400, 86_400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
        ("Sun, 01 Mar 2026 12:00:30 +99999999999999", None),
        ("soon", None),
        ("-5", None),
        ("1e9", None),
        ("²", None),
        ("", None),
    ],
)
def test_the_header_becomes_seconds(header: str | None, seconds: float | None) -> None:
    assert seconds_asked(header, NOW) == seconds
