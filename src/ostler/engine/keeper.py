"""The keeper: renews leases, rescues dead processes' jobs, keeps periodic work open.

It beats at a third of a lease's term. Renewal comes before rescue, in one transaction, so that a process
which was cut off from the database does not rescue its own living work.
"""

import structlog
from sqlalchemy import Connection

from ostler.engine.bell import Bell
from ostler.engine.config import EngineConfig
from ostler.engine.outlive import outlive
from ostler.engine.running import Running
from ostler.store.database import Database
from ostler.store.job_leases import renew, rescue, rescue_all
from ostler.store.jobs import Lease, keep_open
from ostler.store.leases import release_all

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Keeper:
    """Keeps leases and periodic work in order."""

    def __init__(self, database: Database, running: Running, bell: Bell, config: EngineConfig) -> None:
        self._database = database
        self._running = running
        self._bell = bell
        self._config = config

    async def take_over(self) -> bool:
        """At the start: when no other process can be alive, take back what the last one held."""
        if self._database.is_exclusive:
            count = await self._database.write(_free_all)
            if count:
                _log.info("jobs taken back", count=count)
        return True

    async def run(self) -> None:
        """Beat for ever; soon again after a beat that found no database."""
        while True:
            is_well = await outlive(self.beat, "renewing leases")
            pause = self._config.term / 3 if is_well else self._config.shortest_poll
            await self._bell.wait(pause.total_seconds())

    async def beat(self) -> bool:
        """Renew, rescue, and see that periodic work is open; stop bodies whose leases turn out to be lost."""
        held = self._running.leases
        kept, rescued = await self._database.write(lambda connection: self._keep(connection, held))
        self._running.lose(held - kept)
        if rescued:
            _log.warning("jobs rescued", count=rescued)
        return True

    def _keep(self, connection: Connection, held: set[Lease]) -> tuple[set[Lease], int]:
        kept = renew(connection, self._config.owner, held, self._config.term)
        rescued = rescue(connection)
        for kind in self._running.kinds.values():
            if kind.every is not None:
                keep_open(connection, kind.of(""), kind.every)
        return kept, rescued


def _free_all(connection: Connection) -> int:
    release_all(connection)
    return rescue_all(connection)
