"""Novita.ai behind the port: which path each operation calls and how its answer is read.

The v1 API throughout: only there are prices, stock and reclaim notices to be found. No policy here: what may
be repeated, and when it is sent, is the transport's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ostler.cloud.lane import Lane
from ostler.cloud.listing import Pager
from ostler.cloud.novita import account, instances, market, orders, wire
from ostler.cloud.novita.calls import Calls, reading, writing
from ostler.cloud.refusals import Ambiguous, Gone
from ostler.cloud.request import Kind, Request
from ostler.cloud.transport import Transport
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

PAGE_SIZE = 100
_V1 = "/gpu-instance/openapi/v1"
_BASIC = "/openapi/v1"
_MOST_JOBS = 100


class NovitaCloud:
    """A Cloud."""

    def __init__(self, transport: Transport) -> None:
        self._calls = Calls(transport)
        self._pager = Pager(PAGE_SIZE)

    async def regions(self, *, lane: Lane) -> Sequence[Region]:
        """Return all regions."""
        request = reading("list_regions", f"{_V1}/clusters", lane)
        return await self._calls.read(request, lambda answer, _: market.regions(answer))

    async def products(
        self, region: Region, mode: BillingMode, gpus: int, *, lane: Lane
    ) -> Sequence[Product]:
        """Return what a region sells under a billing mode to who wants so many GPUs, sold out or not."""
        query = {"clusterId": region.id, "billingMethod": mode.value, "gpuNum": str(gpus)}
        request = reading("list_products", f"{_V1}/products", lane, query)
        return await self._calls.read(request, lambda answer, _: market.products(answer, region, mode))

    async def cpu_products(self, region: Region, *, lane: Lane) -> Sequence[CpuProduct]:
        """Return the machines without a GPU that a region sells."""
        request = reading("list_cpu_products", f"{_V1}/cpu/products", lane, {"clusterId": region.id})
        return await self._calls.read(request, lambda answer, _: market.cpu_products(answer, region))

    async def templates(self, channel: Channel, *, lane: Lane) -> Sequence[TemplateSheet]:
        """Return all templates of a channel, not validated."""
        sheets: dict[str, TemplateSheet] = {}
        number = 1
        while True:
            query = {"channel": channel.value, "pageSize": str(PAGE_SIZE), "pageNum": str(number)}
            request = reading("list_templates", f"{_V1}/templates", lane, query)
            page, total = await self._calls.read(request, lambda answer, _: market.templates(answer))
            before = len(sheets)
            sheets |= {sheet.id: sheet for sheet in page}
            if len(sheets) == before or (total is not None and len(sheets) >= total):
                return tuple(sheets.values())
            number += 1

    async def template(self, template_id: str, *, lane: Lane) -> TemplateSheet:
        """Return one template, not validated; raise Gone when there is none."""
        request = reading("get_template", f"{_V1}/template", lane, {"templateId": template_id})
        return await self._calls.read(
            request, lambda answer, _: market.template(answer), subject=f"template {template_id}"
        )

    async def registry_auths(self, *, lane: Lane) -> Sequence[RegistryAuth]:
        """Return the account's registry credentials by id and name, without the credentials."""
        request = reading("list_registry_auths", f"{_V1}/repository/auths", lane)
        return await self._calls.read(request, lambda answer, _: market.registry_auths(answer))

    async def registry_credentials(self, auth_id: str, *, lane: Lane) -> Credentials:
        """Return one registry's credentials, to be used at once and kept nowhere; raise Gone without it."""
        request = reading("get_registry_credentials", f"{_V1}/repository/auths", lane)

        def found(answer: object, began_at: datetime) -> Credentials:
            credentials = market.registry_credentials(answer, auth_id)
            if credentials is None:
                raise Gone(request.operation, f"registry credentials {auth_id}", began_at)
            return credentials

        return await self._calls.read(request, found)

    async def get(self, upstream_id: str, *, lane: Lane) -> Upstream:
        """Return one instance with its connection details; raise Gone when the cloud says so."""
        request = reading("get_instance", f"{_V1}/gpu/instance", lane, {"instanceId": upstream_id})
        return await self._calls.read(request, instances.single, subject=f"instance {upstream_id}")

    async def list_page(self, number: int, *, lane: Lane = Lane.WATCHER) -> Page:
        """Return one page of the account's instances."""
        return await self._calls.read(_page_request("list_instances", number, lane, {}), instances.page)

    async def list_all(self, *, lane: Lane = Lane.WATCHER) -> Listing:
        """Return the account's instances and whether that is provably all of them."""
        return await self._pager.collect(lambda number: self.list_page(number, lane=lane))

    async def find_by_name(self, name: str, *, lane: Lane = Lane.USER) -> Listing:
        """Return the instances of exactly this name. May serve as the probe of an open breaker."""

        async def fetch(number: int) -> Page:
            request = _page_request("find_instances", number, lane, {"name": name})
            return await self._calls.read(replace(request, is_urgent=True), instances.page)

        # a pager of its own: a filtered list says nothing about how the whole one counts its pages
        listing = await Pager(PAGE_SIZE).collect(fetch)
        # the cloud's filter is fuzzy
        return replace(listing, upstreams=tuple(found for found in listing.upstreams if found.name == name))

    async def jobs(self, upstream_id: str, *, lane: Lane) -> Sequence[Job]:
        """Return the cloud's jobs on an instance, newest first."""
        query = {"pageSize": str(_MOST_JOBS), "pageNum": "1"}
        request = reading("list_jobs", f"{_V1}/jobs", lane, query)
        found = await self._calls.read(request, lambda answer, _: instances.jobs(answer))
        return [job for job in found if job.instance_id == upstream_id]

    async def gpu_use(self, upstream_id: str, since: datetime, until: datetime, *, lane: Lane) -> GpuUse:
        """Return how busy the GPUs were."""
        query = {
            "instanceId": upstream_id,
            "startTime": str(int(since.timestamp())),
            "endTime": str(int(until.timestamp())),
        }
        request = reading("get_metrics", f"{_BASIC}/metrics/gpu/instance", lane, query)
        return await self._calls.read(
            request, lambda answer, _: account.gpu_use(answer), subject=f"instance {upstream_id}"
        )

    async def balance(self, *, lane: Lane) -> Balance:
        """Return the account's money."""
        request = reading("get_balance", f"{_BASIC}/billing/balance/detail", lane)
        return await self._calls.read(request, lambda answer, _: account.balance(answer))

    async def create(
        self, order: CreateOrder, *, not_after: datetime | None = None, lane: Lane = Lane.USER
    ) -> str:
        """Order an instance and return its id. Never sent after `not_after`, however long it queued."""
        request = Request(
            operation="create_instance",
            kind=Kind.CREATE,
            lane=lane,
            method="POST",
            path=f"{_V1}/gpu/instance/create",
            body=orders.create_body(order),
            not_after=not_after,
        )
        answer = await self._calls.write(request, secrets=orders.secrets_of(order))
        try:
            return wire.needed_text(answer, "id")
        except wire.Unreadable as error:
            raise Ambiguous(request.operation, f"the answer cannot be read: {error}") from error

    async def start(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Start a stopped instance; InvalidState may hide a success."""
        await self._do("start", upstream_id, lane)

    async def stop(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Stop a running instance. For a user it may serve as the probe of an open breaker."""
        await self._do("stop", upstream_id, lane, is_urgent=lane is Lane.USER)

    async def restart(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Restart a running instance."""
        await self._do("restart", upstream_id, lane)

    async def delete(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Remove an instance for good. For a user it may serve as the probe of an open breaker."""
        await self._do("delete", upstream_id, lane, is_urgent=lane is Lane.USER)

    async def migrate(self, upstream_id: str, *, lane: Lane = Lane.USER) -> None:
        """Move an instance to another machine; what its disks hold is lost."""
        await self._do("migrate", upstream_id, lane)

    async def set_auto_renew(self, upstream_id: str, *, months: int, lane: Lane = Lane.USER) -> None:
        """Renew a prepaid term by so many months whenever it ends; 0 lets it end."""
        body = {"instanceIds": [upstream_id], "autoRenew": months > 0, "autoRenewMonth": max(months, 1)}
        request = writing("set_auto_renew", f"{_V1}/gpu/instance/setAutoRenew", lane, body)
        await self._calls.write(request, subject=f"instance {upstream_id}")

    async def _do(self, verb: str, upstream_id: str, lane: Lane, *, is_urgent: bool = False) -> None:
        path = f"{_V1}/gpu/instance/{verb}"
        request = writing(f"{verb}_instance", path, lane, {"instanceId": upstream_id})
        answer = await self._calls.write(
            replace(request, is_urgent=is_urgent), subject=f"instance {upstream_id}"
        )
        if answer.get("instanceId", upstream_id) not in {upstream_id, ""}:
            raise Ambiguous(request.operation, "the cloud answered for another instance")


def _page_request(operation: str, number: int, lane: Lane, query: Mapping[str, str]) -> Request:
    paging = {"pageSize": str(PAGE_SIZE), "pageNum": str(number)}
    return reading(operation, f"{_V1}/gpu/instances", lane, {**query, **paging})
