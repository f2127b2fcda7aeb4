"""`ostler doctor`: examines what Ostler depends on, and says what to do about what is wrong.

Exits with 1 when something failed; warnings alone are no failure.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from ostler.assembly.checkup import check_up
from ostler.assembly.findings import Finding, Verdict
from ostler.assembly.outward import secrets_given
from ostler.cli.complaints import settings_or_complaint
from ostler.cli.exits import Exit
from ostler.settings import Settings
from ostler.telemetry.logs import configure_logging
from ostler.telemetry.redaction import Redactor

_SIGNS = {Verdict.OK: "ok  ", Verdict.WARNING: "warn", Verdict.FAILED: "FAIL"}


def doctor(*, as_json: Annotated[bool, Parameter("--json", negative=())] = False) -> int:
    """Check settings, database, ports, receivers, key, clock and disk.

    Parameters
    ----------
    as_json
        Print the findings as JSON.
    """
    settings = settings_or_complaint()
    if settings is None:
        return Exit.USAGE
    found = asyncio.run(_examine(settings))
    sys.stdout.write(json.dumps([asdict(each) for each in found], indent=2) if as_json else _told(found))
    sys.stdout.write("\n")
    return Exit.FAILED if any(each.verdict is Verdict.FAILED for each in found) else Exit.OK


async def _examine(settings: Settings) -> list[Finding]:
    # the findings say all that there is to know: of the log only what is wrong, and never on stdout
    configure_logging("error", settings.log_format, Redactor(secrets_given(settings)))
    return [finding async for finding in check_up(settings)]


def _told(found: list[Finding]) -> str:
    width = max(len(each.what) for each in found)
    return "\n".join(
        f"{_SIGNS[each.verdict]}  {each.what:<{width}}  {each.detail}"
        + (f" ({each.hint})" if each.hint else "")
        for each in found
    )
