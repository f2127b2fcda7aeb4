"""How far an address may lead that somebody gave us: inside only by leave, to a metadata service never.

Such addresses come from users (webhooks) and from the cloud (an instance's endpoints, its log). What is
inside is told by ssrfguard's table, which looks through the disguises of IPv4 in IPv6.
"""

from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import urlsplit

from ssrfguard import DEFAULT_DENIED, Block, Policy
from ssrfguard import Reach as Verdict

_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
# not link-local: most metadata services answer there, and nobody's receiver does; but for two of them that
# are within the private networks
_PRIVATE: tuple[IPv4Network | IPv6Network, ...] = (
    *(IPv4Network("10.0.0.0/8"), IPv4Network("172.16.0.0/12"), IPv4Network("192.168.0.0/16")),
    *IPv4Network("100.64.0.0/10").address_exclude(IPv4Network("100.100.100.200/32")),
    *IPv6Network("fc00::/7").address_exclude(IPv6Network("fd00:ec2::254/128")),
)
# IPv4 translated without state, which the table does not have
_TRANSLATED = Block(IPv6Network("::ffff:0:0:0/96"), "IPv4-translated Address", "RFC2765", Verdict.DENIED)
_TABLE = replace(DEFAULT_DENIED, blocks=(*DEFAULT_DENIED.blocks, _TRANSLATED))
_INSIDE = (".internal", ".local", ".lan", ".home.arpa")  # names that no public name server has


@dataclass(frozen=True, slots=True)
class Reach:
    """How far beyond the public internet."""

    allow_private: bool = False  # with loopback
    allow_loopback: bool = False

    @property
    def policy(self) -> Policy:
        """The policy for addresses; one forbidden address of a name forbids the name."""
        inside = (*_LOOPBACK, *_PRIVATE)
        allowed = inside if self.allow_private else _LOOPBACK if self.allow_loopback else ()
        return Policy(denied_networks=_TABLE, allowed_networks=allowed)


def reach_of_cloud(base_url: str) -> Reach:
    """Return how far the addresses may lead that a cloud tells: as far inside as the cloud itself is."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    if is_this_machine(host):
        return Reach(allow_loopback=True)
    try:
        address = ip_address(host)
    except ValueError:
        return Reach(allow_private="." not in host or host.endswith(_INSIDE))
    return Reach(allow_loopback=True) if address.is_loopback else Reach(allow_private=address.is_private)


def is_this_machine(host: str) -> bool:
    """Tell whether a name is one that this machine has for itself."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")
