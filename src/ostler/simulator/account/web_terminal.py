"""A *web terminal*: a shell in the browser, which v2 can switch off and on for an instance.

v1 shows the terminal but has no switch for it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebTerminal:
    """Whether an instance's terminal answers; one that was never switched does."""

    id: str  # the instance's
    is_enabled: bool = True
