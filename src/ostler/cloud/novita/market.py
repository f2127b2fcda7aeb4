"""Reading what is for sale: clusters, products with their prices and stock, templates, registry credentials.

The cloud names a product's regions by the clusters' names, "CODE (Place)" or only the code, never by id;
they are matched to the regions of its own list. A price of 0 means that a product is not sold that way.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from pydantic import SecretStr

from ostler.cloud.novita import wire
from ostler.cloud.novita.wire import Row
from ostler.cloud.upstream import Credentials
from ostler.domain.catalogue import BillingMode, CpuProduct, Inventory, Product, Region, RegistryAuth
from ostler.domain.money import Usd
from ostler.domain.offers import HOURS_PER_MONTH
from ostler.domain.templates import StatedPort, TemplateSheet

_INVENTORIES: Mapping[str, Inventory] = {inventory.value: inventory for inventory in Inventory}


def regions(answer: object) -> tuple[Region, ...]:
    """Read the list of clusters."""
    items = wire.rows(wire.as_row(answer, "body"), "data")
    return tuple(_region(wire.as_row(item, "data")) for item in items)


def _region(row: Row) -> Region:
    name = wire.needed_text(row, "name")
    return Region(
        id=wire.needed_text(row, "id"),
        code=_code(name),
        name=name,
        gpu_types=tuple(str(gpu) for gpu in wire.rows(row, "availableGpuType")),
        has_network_storage=wire.flag(row, "supportNetworkStorage", default=False),
        has_private_networks=wire.flag(row, "supportInstanceNetwork", default=False),
    )


def _code(name: str) -> str:
    """Return the code of a name such as "US-CA-06 (California)"."""
    return name.partition("(")[0].strip() or name


def products(answer: object, region: Region, mode: BillingMode) -> tuple[Product, ...]:
    """Read the products of one region under one billing mode."""
    items = wire.rows(wire.as_row(answer, "body"), "data")
    of_region = (row for item in items if _is_sold_in(region, row := wire.as_row(item, "data")))
    return tuple(_product(row, region, mode) for row in of_region)


def _is_sold_in(region: Region, row: Row) -> bool:
    listed = row.get("regions")
    if isinstance(listed, dict):  # the documentation's form of an empty list
        return True
    named = wire.rows(row, "regions")
    return not named or any(
        region.is_called(_code(str(name))) or region.is_called(str(name)) for name in named
    )


def _product(row: Row, region: Region, mode: BillingMode) -> Product:
    monthly = _monthly_prices(row)
    modes = wire.rows(row, "billingMethods")
    is_sold = not modes or mode.value in modes
    stock = wire.text(row, "inventoryState")
    inventory = _INVENTORIES.get(stock, Inventory.UNKNOWN)
    return Product(
        id=wire.needed_text(row, "id"),
        name=wire.needed_text(row, "name"),
        region_id=region.id,
        billing_mode=mode,
        price_per_gpu_hour=_hourly(row, mode, monthly) if is_sold else None,
        monthly_prices=monthly,
        is_deployable=(
            wire.flag(row, "availableDeploy", default=False)
            and wire.flag(row, "canBuy", default=True)
            and inventory is not Inventory.NONE
        ),
        inventory=inventory,
        cpus_per_gpu=wire.count(row, "cpuPerGpu"),
        memory_gb_per_gpu=wire.count(row, "memoryPerGpu"),
        min_rootfs_gb=wire.count(row, "minRootFS"),
        max_rootfs_gb=wire.count(row, "maxRootFS"),
    )


def _hourly(row: Row, mode: BillingMode, monthly: Mapping[int, Usd]) -> Usd | None:
    match mode:
        case BillingMode.SPOT:
            return _nothing_if_free(wire.price(row, "spotPrice"))
        case BillingMode.ON_DEMAND:
            return _nothing_if_free(wire.price(row, "price"))
        case BillingMode.MONTHLY:
            return _spread_over_its_hours(monthly)
        case _:
            assert_never(mode)


def _nothing_if_free(price: Usd | None) -> Usd | None:
    return price if price is not None and price.units > 0 else None


def _spread_over_its_hours(monthly: Mapping[int, Usd]) -> Usd | None:
    """Return the shortest term's price per hour, rounded up: for comparing, never for billing."""
    if not monthly:
        return None
    months = min(monthly)
    return Usd(-(-monthly[months].units // (months * HOURS_PER_MONTH)))


def _monthly_prices(row: Row) -> Mapping[int, Usd]:
    prices = {}
    for item in wire.rows(row, "monthlyPrice"):
        offer = wire.as_row(item, "monthlyPrice")
        months, price = wire.count(offer, "month"), _nothing_if_free(wire.price(offer, "price"))
        if months and price is not None:
            prices[months] = price
    return prices


def cpu_products(answer: object, region: Region) -> tuple[CpuProduct, ...]:
    """Read the machines without a GPU of one region."""
    items = wire.rows(wire.as_row(answer, "body"), "data")
    return tuple(_cpu_product(wire.as_row(item, "data"), region) for item in items)


def _cpu_product(row: Row, region: Region) -> CpuProduct:
    return CpuProduct(
        id=wire.needed_text(row, "id"),
        name=wire.needed_text(row, "name"),
        region_id=region.id,
        cpus=wire.count(row, "cpuNum"),
        memory_gb=wire.count(row, "memorySize"),
        price_per_hour=wire.price(row, "price"),
        is_deployable=wire.flag(row, "availableDeploy", default=False),
    )


def template(answer: object) -> TemplateSheet:
    """Read the answer to a GET of one template."""
    return _sheet(wire.inner(wire.as_row(answer, "body"), "template"))


def templates(answer: object) -> tuple[tuple[TemplateSheet, ...], int | None]:
    """Read one page of templates (the key is singular) and how many there are in all."""
    body = wire.as_row(answer, "body")
    items = wire.rows(body, "template")
    return tuple(_sheet(wire.as_row(item, "template")) for item in items), wire.number(body, "total")


def _sheet(row: Row) -> TemplateSheet:
    return TemplateSheet(
        id=wire.needed_text(row, "Id"),
        name=wire.text(row, "name"),
        image=wire.text(row, "image"),
        channel=wire.text(row, "channel"),
        rootfs_gb=wire.count(row, "rootfsSize"),
        ports=_stated_ports(row),
        envs=tuple(_env(wire.as_row(item, "envs")) for item in wire.rows(row, "envs")),
        start_command=wire.text(row, "startCommand"),
        entrypoint=wire.text(row, "entrypoint"),
        registry_auth_id=wire.text(row, "imageAuth"),
        min_cuda_version=wire.text(row, "minCudaVersion"),
    )


def _stated_ports(row: Row) -> tuple[StatedPort, ...]:
    ports = []
    for item in wire.rows(row, "ports"):
        group = wire.as_row(item, "ports")
        for port in wire.rows(group, "ports"):
            stated = wire.number({"port": port}, "port")
            if stated is None:
                raise wire.unreadable(key="ports", value=port)
            ports.append(StatedPort(stated, wire.text(group, "type")))
    return tuple(ports)


def _env(row: Row) -> tuple[str, str]:
    return wire.text(row, "key"), wire.text(row, "value")


def registry_auths(answer: object) -> Sequence[RegistryAuth]:
    """Read the registry credentials without the credentials."""
    return [RegistryAuth(wire.needed_text(row, "id"), wire.text(row, "name")) for row in _auth_rows(answer)]


def registry_credentials(answer: object, auth_id: str) -> Credentials | None:
    """Read one registry's credentials from the list of all."""
    for row in _auth_rows(answer):
        if wire.text(row, "id") == auth_id:
            return Credentials(wire.text(row, "username"), SecretStr(wire.text(row, "password")))
    return None


def _auth_rows(answer: object) -> list[Row]:
    items = wire.rows(wire.as_row(answer, "body"), "data")
    return [wire.as_row(item, "data") for item in items]
