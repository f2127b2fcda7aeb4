"""Exit codes: what a shell learns from how a command ended.

The same for every command, so that scripts can branch on them.
"""

from enum import IntEnum


class Exit(IntEnum):
    """Ostler's exit codes, the same for every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_ALLOWED = 3
    NOT_FOUND = 4
    CONFLICT = 5
    TIMED_OUT = 124
    INTERRUPTED = 130
