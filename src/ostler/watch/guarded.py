"""A cloud that takes no orders while its account may not be ours: what the jobs and use cases are given.

Nor does it show instances then: another account's "not found" would be taken for the end of one of ours.
Each such call first asks the database whether this process's key is the trusted one, so that a replica that
was started with another key can do no harm either. What is for sale may be read with any key.
"""

from collections.abc import Sequence
from datetime import datetime

from ostler.cloud.lane import Lane
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import Unavailable
from ostler.cloud.upstream import Balance, CreateOrder, Credentials, GpuUse, Job, Listing, Page, Upstream
from ostler.domain.catalogue import BillingMode, Channel, CpuProduct, Product, Region, RegistryAuth
from ostler.domain.templates import TemplateSheet
from ostler.store.database import Database
from ostler.store.watch_state import read_watch_state
from ostler.watch.account import Account

_RETRY_AFTER_S = 10.0


class AccountSuspect(Unavailable):
    """Nothing was sent: the key may be another account's, which has to be confirmed first."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            operation,
            "the key is not the one that was used before, and shows none of our instances: confirm it",
            _RETRY_AFTER_S,
        )


class GuardedCloud:
    """A Cloud."""

    def __init__(self, cloud: Cloud, database: Database, account: Account) -> None:
        self._cloud = cloud
        self._database = database
        self._account = account

    async def _require_trust(self, operation: str) -> None:
        if not self._account.is_trusted(await self._database.read(read_watch_state)):
            raise AccountSuspect(operation)

    async def regions(self, *, lane: Lane) -> Sequence[Region]:
        """Return all regions."""
        return await self._cloud.regions(lane=lane)

    async def products(
        self, region: Region, mode: BillingMode, gpus: int, *, lane: Lane
    ) -> Sequence[Product]:
        """Return what a region sells."""
        return await self._cloud.products(region, mode, gpus, lane=lane)

    async def cpu_products(self, region: Region, *, lane: Lane) -> Sequence[CpuProduct]:
        """Return the machines without a GPU that a region sells."""
        return await self._cloud.cpu_products(region, lane=lane)

    async def templates(self, channel: Channel, *, lane: Lane) -> Sequence[TemplateSheet]:
        """Return all templates of a channel."""
        return await self._cloud.templates(channel, lane=lane)

    async def template(self, template_id: str, *, lane: Lane) -> TemplateSheet:
        """Return one template."""
        return await self._cloud.template(template_id, lane=lane)

    async def registry_auths(self, *, lane: Lane) -> Sequence[RegistryAuth]:
        """Return the account's registry credentials by id and name."""
        return await self._cloud.registry_auths(lane=lane)

    async def registry_credentials(self, auth_id: str, *, lane: Lane) -> Credentials:
        """Return one registry's credentials."""
        return await self._cloud.registry_credentials(auth_id, lane=lane)

    async def get(self, upstream_id: str, *, lane: Lane) -> Upstream:
        """Return one instance."""
        await self._require_trust("get_instance")
        return await self._cloud.get(upstream_id, lane=lane)

    async def list_page(self, number: int, *, lane: Lane = Lane.WATCHER) -> Page:
        """Return one page of the account's instances."""
        await self._require_trust("list_instances")
        return await self._cloud.list_page(number, lane=lane)

    async def list_all(self, *, lane: Lane = Lane.WATCHER) -> Listing:
        """Return the account's instances."""
        await self._require_trust("list_instances")
        return await self._cloud.list_all(lane=lane)

    async def find_by_name(self, name: str, *, lane: Lane = Lane.USER) -> Listing:
        """Return the instances of exactly this name."""
        await self._require_trust("find_instances")
        return await self._cloud.find_by_name(name, lane=lane)

    async def jobs(self, upstream_id: str, *, lane: Lane) -> Sequence[Job]:
        """Return the cloud's jobs on an instance."""
        await self._require_trust("list_jobs")
        return await self._cloud.jobs(upstream_id, lane=lane)

    async def gpu_use(self, upstream_id: str, since: datetime, until: datetime, *, lane: Lane) -> GpuUse:
        """Return how busy the GPUs were."""
        return await self._cloud.gpu_use(upstream_id, since, until, lane=lane)

    async def balance(self, *, lane: Lane) -> Balance:
        """Return the account's money."""
        return await self._cloud.balance(lane=lane)

    async def create(
        self, order: CreateOrder, *, not_after: datetime | None = None, lane: Lane = Lane.USER
    ) -> str:
        """Order an instance, if the account is ours."""
        await self._require_trust("create_instance")
        return await self._cloud.create(order, not_after=not_after, lane=lane)

    async def start(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Start an instance, if the account is ours."""
        await self._require_trust("start_instance")
        await self._cloud.start(upstream_id, lane=lane)

    async def stop(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Stop an instance, if the account is ours."""
        await self._require_trust("stop_instance")
        await self._cloud.stop(upstream_id, lane=lane)

    async def restart(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Restart an instance, if the account is ours."""
        await self._require_trust("restart_instance")
        await self._cloud.restart(upstream_id, lane=lane)

    async def delete(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Remove an instance, if the account is ours."""
        await self._require_trust("delete_instance")
        await self._cloud.delete(upstream_id, lane=lane)

    async def migrate(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Move an instance, if the account is ours."""
        await self._require_trust("migrate_instance")
        await self._cloud.migrate(upstream_id, lane=lane)

    async def set_auto_renew(self, upstream_id: str, *, months: int, lane: Lane = Lane.USER) -> None:
        """Renew a prepaid term, or let it end, if the account is ours."""
        await self._require_trust("set_auto_renew")
        await self._cloud.set_auto_renew(upstream_id, months=months, lane=lane)
