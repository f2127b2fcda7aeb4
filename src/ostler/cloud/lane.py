"""A *lane* is the queue in which a call to the cloud waits for its turn. Users first, the rest after.

Named by whoever starts a call; ordered and bounded by `lanes.py`.
"""

from enum import StrEnum


class Lane(StrEnum):
    """In order of precedence."""

    USER = "user"  # somebody waits for it
    WATCHER = "watcher"  # the pass that lists the account: at most half of the rate
    BACKGROUND = "background"  # everything that can wait
