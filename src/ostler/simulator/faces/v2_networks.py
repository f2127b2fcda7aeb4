"""v2 private networks: the same ones as in v1.

Creating one answers no id here either.
"""

from ostler.simulator.account.fields import Fields, asked, words
from ostler.simulator.account.identity import owner_uuid
from ostler.simulator.account.kinds import NETWORKS, find_owned, listed_of
from ostler.simulator.account.network import Network
from ostler.simulator.account.paging import age_place, asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.networks import (
    Addresses,
    addresses,
    close_network,
    open_network,
    rename_network,
)
from ostler.simulator.world import World


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    wanted = set(words(call.query.get("member_ids", ())))
    inside = addresses(world, call.account)
    found = [
        network
        for network in sorted(listed_of(world, NETWORKS, call.account), key=age_place)
        if query.text("name").casefold() in network.name.casefold()
        and (not wanted or any(each.instance_id in wanted for each in inside.get(network.id, [])))
    ]
    page = asked_page(found, age_place, query)
    return page_json(page, lambda network: _network_json(network, inside, int(world.now)))


def _get(world: World, call: Call) -> object:
    network = find_owned(world, NETWORKS, call.account, call.path["id"])
    return _network_json(network, addresses(world, call.account), int(world.now))


def _create(world: World, call: Call) -> object:
    fields = Fields(call.body)
    open_network(world, call.account, fields.text("region_id", (1, 255)), fields.text("name"))
    return {}


def _update(world: World, call: Call) -> object:
    rename_network(world, call.account, call.path["id"], Fields(call.body).text("name"))
    return {}


def _delete(world: World, call: Call) -> object:
    close_network(world, call.account, call.path["id"])
    return {}


def _network_json(network: Network, inside: Addresses, now: int) -> dict[str, object]:
    return {
        "id": network.id,
        "owner_id": owner_uuid(network.account),
        "name": network.name,
        "status": {"status": network.state_at(now), "error": "", "message": ""},
        "segment": network.segment,
        "region_id": network.cluster_id,
        "members": [{"id": each.instance_id, "ip": each.ip} for each in inside.get(network.id, [])],
        "created_at": str(network.created_at),
    }


ROUTES = (
    Route("GET", f"{V2}/networks", _list),
    Route("POST", f"{V2}/networks", _create),
    Route("GET", f"{V2}/networks/{{id}}", _get),
    Route("PUT", f"{V2}/networks/{{id}}", _update),
    Route("DELETE", f"{V2}/networks/{{id}}", _delete),
)
