"""How busy the GPUs of an instance are: asked of the cloud, which alone knows.

Like the logs, this read of an instance waits for the cloud; it is asked for as such.
"""

from datetime import timedelta

from ostler.clock import Clock
from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.upstream import GpuUse
from ostler.store.database import Database
from ostler.usecases.asking import Asker, visible

NOTHING = GpuUse((), ())


class WatchGpus:
    """Asks for GPU use."""

    def __init__(self, database: Database, cloud: Cloud, clock: Clock) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock

    async def of_instance(self, instance_id: str, asker: Asker, since: timedelta) -> GpuUse:
        """Return the use of the last while; nothing for what is not at the cloud. Raise Missing."""
        row = await self._database.read(lambda connection: visible(connection, instance_id, asker))
        upstream_id = row.instance.upstream_id
        if upstream_id is None:
            return NOTHING
        now = self._clock.now()
        return await self._cloud.gpu_use(upstream_id, now - since, now, lane=Lane.USER)
