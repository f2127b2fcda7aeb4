"""v2 products. A price is an integer to be divided by 10 to the power of `pricing.precision`.

The category `serverless` sells the same GPUs, though only by the second.
"""

from ostler.simulator.account.fields import Fields, asked, words
from ostler.simulator.account.paging import asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.accounting import DISK_PRICE_PER_GB_DAY, FREE_DISK_GB
from ostler.simulator.face import Call, Route
from ostler.simulator.instance import Mode
from ostler.simulator.market import Product
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.world import World

PRECISION = 5  # prices are in 1/100000 USD
MOST_GPUS = 8
KINDS = ("gpu", "cpu")
CATEGORIES = ("instance", "serverless")
BILLING_NAMES = {Mode.ON_DEMAND: "postpaid", Mode.MONTHLY: "prepaid", Mode.SPOT: "spot"}
LOW_BELOW, HIGH_FROM = 4, 32


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    if not (query.has("type") and query.has("category")):
        raise bad_parameter(message="type and category are required")
    kind, category = query.word("type", KINDS), query.word("category", CATEGORIES)
    found = [
        product
        for product in sorted(world.products.values(), key=lambda product: product.id)
        if product.kind == kind and _matches(world, product, query, words(call.query.get("region_ids", ())))
    ]
    page = asked_page(found, lambda product: product.id, query)
    return page_json(page, lambda product: _product_json(world, product, category))


def _matches(world: World, product: Product, query: Fields, regions: tuple[str, ...]) -> bool:
    return (
        product.cpus >= query.number("cpu")
        and product.memory_gb >= query.number("memory_gb")
        and query.text("name").casefold() in product.name.casefold()
        and (not regions or not set(regions).isdisjoint(_region_ids(world, product)))
    )


def _region_ids(world: World, product: Product) -> list[str]:
    return sorted({shelf.cluster_id for shelf in world.shelves.values() if shelf.product_id == product.id})


def _free(world: World, product: Product) -> list[int]:
    """Return what is left of a product on each of its shelves; spot has its own, which is not counted."""
    return [
        shelf.free
        for shelf in world.shelves.values()
        if shelf.product_id == product.id and shelf.mode is not Mode.SPOT
    ]


def _product_json(world: World, product: Product, category: str) -> dict[str, object]:
    free = _free(world, product)
    modes = [mode for mode in BILLING_NAMES if product.is_sold_under(mode)]
    if category == "serverless":
        modes = [mode for mode in modes if mode is Mode.ON_DEMAND]
    return {
        "id": product.id,
        "name": product.name,
        "type": product.kind,
        "category": category,
        "description": product.name,
        "region_ids": _region_ids(world, product),
        "resource_spec": _resource_json(product, free),
        "pricing": _pricing_json(product, modes),
        "billing_methods": [BILLING_NAMES[mode] for mode in modes],
        "inventory_state": _inventory(sum(free)),
        "deployable": product.can_buy and sum(free) > 0,
        "activity": {"is_activity_product": False, "active": False, "purchasable": product.can_buy},
    }


def _resource_json(product: Product, free: list[int]) -> dict[str, object]:
    spec: dict[str, object] = {
        "cpu": product.cpus,
        "memory_gb": product.memory_gb,
        "rootfs": {
            "min_gb": product.min_rootfs_gb,
            "max_gb": product.max_rootfs_gb,
            "free_gb": FREE_DISK_GB,
        },
    }
    if product.kind == "gpu":
        spec["gpu"] = {
            "spec_id": product.id,
            "name": product.name,
            "memory_gb": product.gpu_memory_gb,
            "min": 1,
            "max": MOST_GPUS,
            "available": sum(free),
            "max_available": min(MOST_GPUS, max(free, default=0)),
        }
    return spec


def _pricing_json(product: Product, modes: list[Mode]) -> dict[str, object]:
    def hourly(mode: Mode, price: int) -> dict[str, object] | None:
        return {"base_price": price, "final_price": price, "unit": "per_hour"} if mode in modes else None

    terms = product.monthly_prices if Mode.MONTHLY in modes else {}
    return {
        "precision": PRECISION,
        "postpaid": hourly(Mode.ON_DEMAND, product.price),
        "spot": hourly(Mode.SPOT, product.spot_price),
        "prepaid": [
            {
                "spec_id": f"{product.id}-{months}m",
                "duration_months": months,
                "final_price": price,
                "base_price": price,
            }
            for months, price in sorted(terms.items())
        ],
        "storage_price_per_gb": DISK_PRICE_PER_GB_DAY,
    }


def _inventory(free: int) -> str:
    if free == 0:
        return "none"
    if free < LOW_BELOW:
        return "low"
    return "high" if free >= HIGH_FROM else "normal"


ROUTES = (Route("GET", f"{V2}/products", _list),)
