"""v2 regions: what v1 calls clusters, with the names of the GPUs that are sold there.

Their ids are the same in both.
"""

from ostler.simulator.account.fields import asked
from ostler.simulator.account.paging import asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.face import Call, Route
from ostler.simulator.market import Cluster
from ostler.simulator.world import World


def _list(world: World, call: Call) -> object:
    regions = sorted(world.clusters.values(), key=lambda cluster: cluster.id)
    page = asked_page(regions, lambda cluster: cluster.id, asked(call.query))
    return page_json(page, lambda cluster: _region_json(world, cluster))


def _region_json(world: World, cluster: Cluster) -> dict[str, object]:
    sold = {shelf.product_id for shelf in world.shelves.values() if shelf.cluster_id == cluster.id}
    products = (world.products[product_id] for product_id in sold if product_id in world.products)
    return {
        "id": cluster.id,
        "name": cluster.name,
        "gpus": sorted({product.name for product in products if product.kind == "gpu"}),
        "feature": {
            "network_volume": cluster.has_network_storage,
            "instance_vpc_network": cluster.has_private_networks,
        },
    }


ROUTES = (Route("GET", f"{V2}/regions", _list),)
