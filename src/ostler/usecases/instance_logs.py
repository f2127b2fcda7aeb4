"""The logs of an instance, read from the cloud while somebody looks: they are not ours and are not kept.

Where they are is known from the last look at its upstream, also once it has stopped.
"""

from collections.abc import AsyncIterator
from enum import StrEnum

from sqlalchemy import Connection

from ostler.cloud.log_reader import LogReader, LogWish
from ostler.cloud.refusals import Gone
from ostler.domain.errors import Missing, Thing
from ostler.store.database import Database
from ostler.usecases.asking import Asker, visible
from ostler.usecases.details import last_look


class Log(StrEnum):
    """Which of its logs."""

    INSTANCE = "instance"  # what the application writes
    SYSTEM = "system"  # what the cloud does with it


class ReadLogs:
    """Finds logs and has them read."""

    def __init__(self, database: Database, reader: LogReader) -> None:
        self._database = database
        self._reader = reader

    async def of_instance(
        self, instance_id: str, asker: Asker, log: Log, wish: LogWish
    ) -> AsyncIterator[bytes]:
        """Return what comes from a log; raise Missing where there is none, or not yet."""

        def work(connection: Connection) -> str:
            visible(connection, instance_id, asker)
            look = last_look(connection, instance_id)
            found = None if look is None else look.connection
            if found is None:
                return ""
            return found.instance_log_url if log is Log.INSTANCE else found.system_log_url

        address = await self._database.read(work)
        if not address:
            raise Missing(Thing.OTHER, f"{log} log of {instance_id}")
        try:
            return await self._reader.open(address, wish)
        except Gone as error:
            raise Missing(Thing.OTHER, f"{log} log of {instance_id}") from error
