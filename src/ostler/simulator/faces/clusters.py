"""v1 clusters and products: where machines are, which are sold there, for how much, and whether any is left.

What is left is told for the billing mode and the number of GPUs that the query asks about.
"""

from ostler.simulator import stockroom
from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.paths import V1
from ostler.simulator.face import Call, Route
from ostler.simulator.instance import Mode
from ostler.simulator.market import Cluster, Product, shelf_id
from ostler.simulator.world import World

_LOW, _NORMAL = 0.2, 0.7  # shares of a full shelf, above which the stock is called normal or high


def _list_clusters(world: World, _: Call) -> object:
    return {"data": [_cluster_json(world, cluster) for cluster in world.clusters.values()]}


def _list_products(world: World, call: Call) -> object:
    query = asked(call.query)
    mode = Mode(query.word("billingMethod", ("", *Mode)) or Mode.ON_DEMAND)
    clusters = _clusters_asked(world, query)
    gpu_num = query.number("gpuNum", (0, 8))
    return {
        "data": [
            _product_json(world, product, (mode, clusters, max(1, gpu_num)))
            for product in world.products.values()
            if product.kind == "gpu" and _is_wanted(product, query) and product.is_sold_under(mode)
            if any(_is_sold_in(world, product, cluster_id) for cluster_id in clusters)
        ]
    }


def _list_cpu_products(world: World, call: Call) -> object:
    query = asked(call.query)
    clusters = _clusters_asked(world, query)
    return {
        "data": [
            _cpu_product_json(world, product, clusters)
            for product in world.products.values()
            if product.kind == "cpu" and query.text("productName").casefold() in product.name.casefold()
            if any(_is_sold_in(world, product, cluster_id) for cluster_id in clusters)
        ]
    }


def _clusters_asked(world: World, query: Fields) -> tuple[str, ...]:
    cluster_id = query.text("clusterId", (0, 255))
    if not cluster_id:
        return tuple(world.clusters)
    return (cluster_id,) if cluster_id in world.clusters else ()


def _is_wanted(product: Product, query: Fields) -> bool:
    return (
        query.text("productName").casefold() in product.name.casefold()
        and product.cpus >= query.number("minCpuPerGpu")
        and product.memory_gb >= query.number("minMemoryPerGpu")
        and product.max_rootfs_gb >= query.number("minRootFSSize")
    )


def _is_sold_in(world: World, product: Product, cluster_id: str) -> bool:
    """Tell whether there is a shelf for it, be it empty; what is sold as spot only has no other."""
    return any(
        shelf_id(product.id, cluster_id, mode) in world.shelves for mode in (Mode.ON_DEMAND, Mode.SPOT)
    )


def _cluster_json(world: World, cluster: Cluster) -> dict[str, object]:
    names = {
        product.name
        for product in world.products.values()
        if product.kind == "gpu" and _is_sold_in(world, product, cluster.id)
    }
    return {
        "id": cluster.id,
        "name": cluster.name,
        "availableGpuType": sorted(names),
        "supportNetworkStorage": cluster.has_network_storage,
        "supportInstanceNetwork": cluster.has_private_networks,
    }


def _product_json(
    world: World, product: Product, wanted: tuple[Mode, tuple[str, ...], int]
) -> dict[str, object]:
    mode, clusters, gpu_num = wanted
    left = [stockroom.free(world, product.id, cluster_id, mode) for cluster_id in clusters]
    return {
        "id": product.id,
        "name": product.name,
        "cpuPerGpu": product.cpus,
        "memoryPerGpu": product.memory_gb,
        "diskPerGpu": product.disk_gb,
        "availableDeploy": max(left, default=0) >= gpu_num,
        "minRootFS": product.min_rootfs_gb,
        "maxRootFS": product.max_rootfs_gb,
        "minLocalStorage": 0,
        "maxLocalStorage": 0,
        "regions": [
            world.clusters[cluster_id].name
            for cluster_id in clusters
            if _is_sold_in(world, product, cluster_id)
        ],
        "price": str(product.price),
        "monthlyPrice": [
            {"price": str(price), "month": months} for months, price in product.monthly_prices.items()
        ],
        "billingMethods": [each for each in Mode if product.is_sold_under(each)],
        "spotPrice": str(product.spot_price),
        "inventoryState": _inventory(world, product, mode, clusters),
        "canBuy": product.can_buy,
    }


def _inventory(world: World, product: Product, mode: Mode, clusters: tuple[str, ...]) -> str:
    shelves = [
        world.shelves[key]
        for key in (shelf_id(product.id, cluster_id, mode) for cluster_id in clusters)
        if key in world.shelves
    ]
    left = sum(shelf.free for shelf in shelves)
    if left <= 0:
        return "none"
    share = left / max(1, sum(shelf.capacity for shelf in shelves))
    return "low" if share < _LOW else "normal" if share < _NORMAL else "high"


def _cpu_product_json(world: World, product: Product, clusters: tuple[str, ...]) -> dict[str, object]:
    left = (stockroom.free(world, product.id, cluster_id, Mode.ON_DEMAND) for cluster_id in clusters)
    return {
        "id": product.id,
        "name": product.name,
        "cpuNum": product.cpus,
        "memorySize": product.memory_gb,
        "rootfsSize": product.min_rootfs_gb,
        "localVolumeSize": 0,
        "availableDeploy": any(count > 0 for count in left),
        "price": str(product.price),
    }


ROUTES = (
    Route("GET", f"{V1}/clusters", _list_clusters),
    Route("GET", f"{V1}/products", _list_products),
    Route("GET", f"{V1}/cpu/products", _list_cpu_products),
)
