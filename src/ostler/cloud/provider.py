"""The port: everything that Ostler asks of a GPU cloud, in Ostler's words.

Implemented by `novita/client.py`; called by use cases, jobs, the watcher and the catalogue. Every operation
either returns what it says or raises a refusal of `refusals.py`; a write that raises anything but Ambiguous
has changed nothing. A *lane* says who waits for the call. Nothing here decides and nothing here retries.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ostler.cloud.lane import Lane
from ostler.cloud.upstream import (
    Balance,
    CreateOrder,
    Credentials,
    GpuUse,
    Job,
    Listing,
    Page,
    Upstream,
)
from ostler.domain.catalogue import BillingMode, Channel, CpuProduct, Product, Region, RegistryAuth
from ostler.domain.templates import TemplateSheet


class Cloud(Protocol):
    """A GPU cloud."""

    # what is for sale

    async def regions(self, *, lane: Lane) -> Sequence[Region]:
        """Return all regions."""
        ...

    async def products(
        self, region: Region, mode: BillingMode, gpus: int, *, lane: Lane
    ) -> Sequence[Product]:
        """Return what a region sells under a billing mode to who wants so many GPUs, sold out or not."""
        ...

    async def cpu_products(self, region: Region, *, lane: Lane) -> Sequence[CpuProduct]:
        """Return the machines without a GPU that a region sells."""
        ...

    async def templates(self, channel: Channel, *, lane: Lane) -> Sequence[TemplateSheet]:
        """Return all templates of a channel, not validated."""
        ...

    async def template(self, template_id: str, *, lane: Lane) -> TemplateSheet:
        """Return one template, not validated; raise Gone when there is none."""
        ...

    async def registry_auths(self, *, lane: Lane) -> Sequence[RegistryAuth]:
        """Return the account's registry credentials by id and name, without the credentials."""
        ...

    async def registry_credentials(self, auth_id: str, *, lane: Lane) -> Credentials:
        """Return one registry's credentials, to be used at once and kept nowhere; raise Gone without it."""
        ...

    # looking at instances

    async def get(self, upstream_id: str, *, lane: Lane) -> Upstream:
        """Return one instance with its connection details; raise Gone when the cloud says so."""
        ...

    async def list_page(self, number: int, *, lane: Lane = Lane.WATCHER) -> Page:
        """Return one page of the account's instances."""
        ...

    async def list_all(self, *, lane: Lane = Lane.WATCHER) -> Listing:
        """Return the account's instances and whether that is provably all of them."""
        ...

    async def find_by_name(self, name: str, *, lane: Lane = Lane.USER) -> Listing:
        """Return the instances of exactly this name. May serve as the probe of an open breaker."""
        ...

    async def jobs(self, upstream_id: str, *, lane: Lane) -> Sequence[Job]:
        """Return the cloud's jobs on an instance, newest first."""
        ...

    async def gpu_use(self, upstream_id: str, since: datetime, until: datetime, *, lane: Lane) -> GpuUse:
        """Return how busy the GPUs were."""
        ...

    async def balance(self, *, lane: Lane) -> Balance:
        """Return the account's money."""
        ...

    # changing instances

    async def create(
        self, order: CreateOrder, *, not_after: datetime | None = None, lane: Lane = Lane.USER
    ) -> str:
        """Order an instance and return its id. Never sent after `not_after`, however long it queued."""
        ...

    async def start(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Start a stopped instance; InvalidState may hide a success."""
        ...

    async def stop(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Stop a running instance. For a user it may serve as the probe of an open breaker."""
        ...

    async def restart(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Restart a running instance."""
        ...

    async def delete(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Remove an instance for good. For a user it may serve as the probe of an open breaker."""
        ...

    async def migrate(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Move an instance to another machine; what its disks hold is lost."""
        ...

    async def set_auto_renew(self, upstream_id: str, *, months: int, lane: Lane = Lane.USER) -> None:
        """Renew a prepaid term by so many months whenever it ends; 0 lets it end."""
        ...
