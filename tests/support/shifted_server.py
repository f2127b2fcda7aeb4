"""`ostler serve` on a machine whose clock is put forward or back: by as many seconds as a file says.

A program: the file is its argument, and is read again at every look at the clock. Nothing of Ostler knows.
"""

import sys
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import ostler.clock
from ostler.cli.serving import serve


class ShiftedTime(datetime):
    """Tells the time as the machine would."""

    shift = Path()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """Return the machine's time and the shift."""
        return super().now(tz) + timedelta(seconds=float(cls.shift.read_text() or 0))


def main() -> None:
    """Put the clock under the server, and run it."""
    ShiftedTime.shift = Path(sys.argv[1])
    vars(ostler.clock)["datetime"] = ShiftedTime
    sys.exit(serve())


if __name__ == "__main__":
    main()
