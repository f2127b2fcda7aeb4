"""A *network*: a private address range in one cluster, which instances join.

Creating one answers without an id, so that a client finds it by name. It is `creating` for a few seconds, and
cannot be deleted while an instance is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ostler.simulator.account.fields import Span, wrong_length
from ostler.simulator.refusal import Refusal, bad_parameter

NAME_LENGTH: Span = (1, 30)
SECONDS_TO_READY = 5
SEGMENTS = 254


@dataclass(frozen=True, slots=True)
class Address:
    """An instance's place in a network."""

    instance_id: str
    ip: str


@dataclass(frozen=True, slots=True)
class Network:
    """A private address range in a cluster."""

    id: str
    account: str
    name: str
    cluster_id: str
    segment: str
    created_at: int

    def state_at(self, now: int) -> str:
        """Return `creating` or `ready`."""
        return "ready" if now >= self.created_at + SECONDS_TO_READY else "creating"


def checked(network: Network) -> Network:
    """Return the network as it is, or refuse its name."""
    if not NAME_LENGTH[0] <= len(network.name) <= NAME_LENGTH[1]:
        raise wrong_length(field="name", span=NAME_LENGTH)
    return network


def renamed(network: Network, name: str) -> Network:
    """Return the network under another name."""
    return checked(replace(network, name=name))


def segment_of(number: int) -> str:
    """Return the address range of an account's nth network."""
    return f"10.{1 + number % SEGMENTS}.0.0/16"


def check_empty(addresses: Sequence[Address]) -> None:
    """Refuse to delete a network that instances are in."""
    if addresses:
        inside = ", ".join(address.instance_id for address in addresses)
        raise Refusal(
            400, "DEPENDENT_RESOURCE_STATE", f"instances are attached to the network: {inside}", {"0": inside}
        )


def unsupported(cluster_name: str) -> Refusal:
    """Return the refusal of a cluster that has no private networks."""
    return bad_parameter(f"cluster {cluster_name} does not support instance networks")
