"""Making an account's things part of a world: its kinds are claimed, and orders for instances looked through.

An order may name credentials, disks and a network. They must exist and be in one cluster, which is then the
only one where the instance can go; the instance is given its address in the network.
An upgrade names credentials and disks, too.
"""

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING

from ostler.simulator.account.kinds import NETWORKS, REGISTRY_AUTHS, STORAGES, claim, find_owned
from ostler.simulator.account.network import Network
from ostler.simulator.order import Order, Rebuild
from ostler.simulator.refusal import Refusal, bad_parameter, over_quota
from ostler.simulator.world import World

if TYPE_CHECKING:
    from ostler.simulator.instance import Instance, VolumeMount

FIRST_HOST = 2  # .0 is the range, .1 its gateway


def join(world: World) -> None:
    """Let a world have everything that accounts own; called once for each world."""
    claim(world)
    world.screens.append(screened)


def screened(world: World, order: Order) -> Order:
    """Return the order with what it names filled in, or refuse it."""
    if order.image_auth_id:
        find_owned(world, REGISTRY_AUTHS, order.account, order.image_auth_id, refusal=_no_auth)
    return _networked(world, _mounted(world, order))


def rescreened(world: World, instance: "Instance", rebuild: Rebuild) -> Rebuild:
    """Return what an instance is to be made anew from, with what it names filled in, or refuse it."""
    if rebuild.image_auth_id:
        find_owned(world, REGISTRY_AUTHS, instance.account, rebuild.image_auth_id, refusal=_no_auth)
    if rebuild.volumes is None:
        return rebuild
    volumes: list[VolumeMount] = []
    for volume in rebuild.volumes:
        storage = find_owned(world, STORAGES, instance.account, volume.id, refusal=_no_storage)
        if storage.cluster_id != instance.cluster_id:
            raise _no_storage(storage.name)
        volumes.append(replace(volume, size_gb=storage.size_gb))
    return replace(rebuild, volumes=tuple(volumes))


def _mounted(world: World, order: Order) -> Order:
    volumes: list[VolumeMount] = []
    for volume in order.volumes:
        storage = find_owned(world, STORAGES, order.account, volume.id, refusal=_no_storage)
        order = _placed(order, storage.cluster_id, _no_storage(storage.name))
        volumes.append(replace(volume, size_gb=storage.size_gb))
    return replace(order, volumes=tuple(volumes))


def _networked(world: World, order: Order) -> Order:
    if not order.network_id:
        return order
    network = find_owned(world, NETWORKS, order.account, order.network_id)
    if network.state_at(int(world.now)) != "ready":
        raise Refusal(400, "DEPENDENT_RESOURCE_STATE", "network is not ready", {"0": network.name})
    order = _placed(order, network.cluster_id, bad_parameter("network is in another cluster"))
    return replace(order, network_ip=_address(world, order, network))


def _placed(order: Order, cluster_id: str, elsewhere: Refusal) -> Order:
    if order.cluster_ids and cluster_id not in order.cluster_ids:
        raise elsewhere
    return replace(order, cluster_ids=(cluster_id,))


def _address(world: World, order: Order, network: Network) -> str:
    taken = {
        instance.network_ip for instance in world.fleet(order.account) if instance.network_id == network.id
    }
    segment = ipaddress.ip_network(network.segment)
    if order.network_ip:
        return _fixed_address(order.network_ip, segment, taken)
    hosts = (str(segment[number]) for number in range(FIRST_HOST, segment.num_addresses - 1))
    found = next((host for host in hosts if host not in taken), None)
    if found is None:
        raise over_quota(reason="OPERATION_LIMIT", limit=len(taken))
    return found


def _fixed_address(
    wanted: str, segment: ipaddress.IPv4Network | ipaddress.IPv6Network, taken: set[str]
) -> str:
    try:
        inside = ipaddress.ip_address(wanted) in segment
    except ValueError as error:
        raise bad_parameter(message=f"invalid network.ip: {wanted!r} is no IP address") from error
    if not inside:
        raise bad_parameter(message=f"invalid network.ip: {wanted} is not in {segment}")
    if wanted in taken:
        raise Refusal(400, "CONFLICT", f"address {wanted} is taken", {"0": wanted})
    return wanted


def _no_auth(_: str) -> Refusal:
    return Refusal(400, "IMAGE_URL_OR_AUTH_ERROR", "image url or auth error")


def _no_storage(name: str) -> Refusal:
    return Refusal(400, "NETWORK_STORAGE_UNAVAILABLE", "network storage unavailable", {"0": name})
