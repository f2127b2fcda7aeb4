"""v1 private networks: list, get, create, update, delete.

The vendor's spelling is kept: creating answers no id, one network comes as a list of one, and the list's
total is a string.
"""

from collections.abc import Mapping

from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.identity import user_number
from ostler.simulator.account.kinds import NETWORKS, find_owned, forget, keep, listed_of, owned_by
from ostler.simulator.account.network import (
    Address,
    Network,
    check_empty,
    checked,
    renamed,
    segment_of,
    unsupported,
)
from ostler.simulator.account.paging import DEFAULT_PAGE_SIZE, numbered_page
from ostler.simulator.account.paths import V1
from ostler.simulator.face import Call, Route
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.world import World

Addresses = Mapping[str, list[Address]]


def addresses(world: World, account: str) -> Addresses:
    """Return who is in which of an account's networks."""
    found: dict[str, list[Address]] = {}
    for instance in world.fleet(account):
        if instance.network_id:
            found.setdefault(instance.network_id, []).append(Address(instance.id, instance.network_ip))
    return found


def open_network(world: World, account: str, cluster_id: str, name: str) -> Network:
    """Make a network in a cluster that can have one."""
    cluster = world.clusters.get(cluster_id)
    if cluster is None:
        raise bad_parameter(message=f"invalid clusterId: there is no cluster {cluster_id!r}")
    if not cluster.has_private_networks:
        raise unsupported(cluster.name)
    taken = {network.segment for network in owned_by(world, NETWORKS, account)}
    number = next(number for number in range(len(taken) + 1) if segment_of(number) not in taken)
    network = checked(
        Network(
            id=world.new_id(NETWORKS.name),
            account=account,
            name=name,
            cluster_id=cluster.id,
            segment=segment_of(number),
            created_at=int(world.now),
        )
    )
    return keep(world, NETWORKS, network)


def rename_network(world: World, account: str, network_id: str, name: str) -> None:
    """Give a network another name."""
    keep(world, NETWORKS, renamed(find_owned(world, NETWORKS, account, network_id), name))


def close_network(world: World, account: str, network_id: str) -> None:
    """Delete a network that nobody is in."""
    network = find_owned(world, NETWORKS, account, network_id)
    check_empty(addresses(world, account).get(network.id, []))
    forget(world, NETWORKS, network)


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    found = [
        network
        for network in listed_of(world, NETWORKS, call.account)
        if query.text("name").casefold() in network.name.casefold()
    ]
    page = numbered_page(found, query.number("pageNum"), query.number("pageSize", default=DEFAULT_PAGE_SIZE))
    inside = addresses(world, call.account)
    return {
        "networks": [network_json(network, inside, int(world.now)) for network in page],
        "total": str(len(found)),
    }


def _get(world: World, call: Call) -> object:
    network = find_owned(world, NETWORKS, call.account, call.first("networkId"))
    return {"network": [network_json(network, addresses(world, call.account), int(world.now))]}


def _create(world: World, call: Call) -> object:
    fields = Fields(call.body)
    open_network(world, call.account, fields.text("clusterId", (1, 255)), fields.text("name"))
    return {}


def _update(world: World, call: Call) -> object:
    fields = Fields(call.body)
    rename_network(world, call.account, fields.text("networkId"), fields.text("name"))
    return {}


def _delete(world: World, call: Call) -> object:
    close_network(world, call.account, Fields(call.body).text("networkId"))
    return {}


def network_json(network: Network, inside: Addresses, now: int) -> dict[str, object]:
    """Return a network as v1 shows it."""
    return {
        "Id": network.id,
        "user": user_number(network.account),
        "name": network.name,
        "state": {"state": network.state_at(now), "error": ""},
        "segment": network.segment,
        "clusterId": network.cluster_id,
        "Addresses": [
            {"Id": address.instance_id, "Ip": address.ip} for address in inside.get(network.id, [])
        ],
        "createTime": str(network.created_at),
    }


ROUTES = (
    Route("GET", f"{V1}/networks", _list),
    Route("GET", f"{V1}/network", _get),
    Route("POST", f"{V1}/network/create", _create),
    Route("POST", f"{V1}/network/update", _update),
    Route("POST", f"{V1}/network/delete", _delete),
)
