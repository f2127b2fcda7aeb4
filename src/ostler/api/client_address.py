"""From where a request comes: the address of the connection, or what a trusted proxy says of it.

`X-Forwarded-For` is believed as far as trusted proxies wrote it: read from its end, the first address that is
none of theirs is the client. Whoever is not trusted may write what they like into it.
"""

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import Scope

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_UNKNOWN = "unknown"  # a local socket has no address


def client_address(scope: Scope, trusted: Sequence[Network] = ()) -> str:
    """Return the address of whoever asks."""
    client = scope.get("client")
    nearest = _UNKNOWN if client is None else str(client[0])
    if not trusted or not _is_in(nearest, trusted):
        return nearest
    told = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
    for each in reversed([part.strip() for part in told.split(",")]):
        if not _is_address(each):
            break
        nearest = each
        if not _is_in(each, trusted):
            break
    return nearest


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_in(address: str, trusted: Sequence[Network]) -> bool:
    if not _is_address(address):
        return False
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in trusted)
