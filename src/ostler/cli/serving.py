"""`ostler up`, `ostler serve`, `ostler worker`: read the settings, start, say where it is, end well.

The only commands that run a server or its work themselves; loaded only when they are used.
"""

import sys
from collections.abc import Coroutine
from typing import Annotated

import uvloop
from cyclopts import Parameter
from cyclopts.validators import Number

from ostler import __version__
from ostler.assembly.server import Started, StartError, run_server
from ostler.assembly.worker import Working, run_worker
from ostler.cli.complaints import complain, settings_or_complaint
from ostler.cli.exits import Exit
from ostler.datadir import DataDirectoryError
from ostler.settings import Given
from ostler.settings_report import WrongSetting
from ostler.store.database import StoreUnavailable
from ostler.store.opening import UNUSABLE
from ostler.store.sealing import SealBroken

_REFUSALS = (StartError, DataDirectoryError, SealBroken, StoreUnavailable, *UNUSABLE)


def up() -> int:
    """Start everything in one process; without a key, on the simulated cloud."""
    settings = settings_or_complaint()
    return Exit.USAGE if settings is None else _run(run_server(settings, _welcome))


def serve() -> int:
    """Start the API and the dashboard for the cloud that the settings name."""
    settings = settings_or_complaint(_names_a_cloud)
    return Exit.USAGE if settings is None else _run(run_server(settings, _welcome))


def worker(*, port: Annotated[int | None, Parameter(validator=Number(gte=0, lte=65_535))] = None) -> int:
    """Carry out work only, as one of several processes on one PostgreSQL.

    Parameters
    ----------
    port
        Answer `/health` and `/metrics` on this port, 0 being any free one; without it, listen nowhere.
    """
    settings = settings_or_complaint(_names_a_cloud, _shares_a_database)
    return Exit.USAGE if settings is None else _run(run_worker(settings, _greet, port))


def _names_a_cloud(given: Given) -> WrongSetting | None:
    if given.novita_api_key is None and given.simulate is False:
        return WrongSetting(
            "NOVITA_API_KEY", "", "must be set, or OSTLER_SIMULATE=true for the simulated cloud"
        )
    return None


def _shares_a_database(given: Given) -> WrongSetting | None:
    url = "" if given.database_url is None else given.database_url.get_secret_value()
    if url.startswith(("postgresql://", "postgres://")):
        return None
    return WrongSetting(
        "OSTLER_DATABASE_URL",
        "***" if url else "",
        "must be postgresql://…, which a worker shares with servers; on SQLite one process does everything "
        "(`ostler up` or `ostler serve`)",
    )


def _run(process: Coroutine[None, None, None]) -> int:
    try:
        uvloop.run(process)
    except _REFUSALS as error:
        complain(str(error))
        return Exit.FAILED
    return Exit.OK


def _welcome(started: Started) -> None:
    key = f"key in {started.key_file}" if started.key_file else "with the key in OSTLER_ADMIN_KEY"
    cloud = started.cloud_url
    if started.is_simulated:
        cloud = f"simulated at {started.cloud_url}, nothing costs money (set NOVITA_API_KEY for the real one)"
    lines = (
        f"Ostler {__version__} is up.",
        f"  dashboard  {started.login_url}   (signs you in, once)",
        f"  API        {started.url}/api   ({key})",
        f"  docs       {started.url}/docs",
        f"  health     {started.url}/health",
        f"  cloud      {cloud}",
    )
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _greet(working: Working) -> None:
    shown = f"{working.url}/health, {working.url}/metrics" if working.url else "not shown (--port shows it)"
    lines = (
        f"Ostler {__version__} works.",
        f"  health     {shown}",
        f"  cloud      {working.cloud_url}",
    )
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
