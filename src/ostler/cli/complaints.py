"""How a command says on stderr that it cannot go on, and the settings or the complaint about them.

A complaint says what is wrong and what to do; it is never a stack trace.
"""

import sys

from ostler.settings import Demand, Settings, load_settings
from ostler.settings_report import SettingsError


def complain(message: str) -> None:
    """Say on stderr what is wrong."""
    sys.stderr.write(f"ostler: {message}\n")


def settings_or_complaint(*demands: Demand) -> Settings | None:
    """Return the settings, or None after having listed all that is wrong or missing."""
    try:
        return load_settings(*demands)
    except SettingsError as error:
        count = len(error.wrong)
        complain(f"{count} setting{'s' if count > 1 else ''} cannot be used:")
        for each in error.wrong:
            sys.stderr.write(f"  {each}\n")
        return None
