"""Which receivers may be called: never this machine, a private network or a cloud's metadata service.

A *receiver* is the URL that a webhook goes to. It is checked twice: by its literal when it is given
(`problem_with_receiver`), and by the addresses that its name stands for at each connection
(`cloud/checked_network.py`).
Only the second check is protection; the first one spares people a late surprise.
"""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx2
from ssrfguard import Policy
from ssrfguard.errors import SSRFGuardError

from ostler.cloud.reach import Reach, is_this_machine
from ostler.domain.fields import cut

_LONGEST_URL = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}


def problem_with_receiver(url: str, reach: Reach) -> str | None:
    """Return why a URL cannot receive webhooks as far as it tells by itself; None when nothing is wrong."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
        host = httpx2.URL(url).host
    except (ValueError, httpx2.InvalidURL) as error:
        return f"is not a URL: {error}"
    if parts.scheme not in _DEFAULT_PORTS:
        return "must begin with http:// or https://"
    if not host:
        return "names no host"
    if is_this_machine(host) and not (reach.allow_loopback or reach.allow_private):
        return f"{cut(host)} is this machine itself, which webhooks may not call"
    if _is_encoded_address(host):
        return f"{cut(host)} is an address in disguise: write it as four numbers"
    return _problem_with_literal(url, port, reach.policy)


def _problem_with_literal(url: str, port: int, policy: Policy) -> str | None:
    asked = Policy(
        denied_networks=policy.denied_networks,
        allowed_networks=policy.allowed_networks,
        allowed_ports=frozenset({port}),
        allow_userinfo=True,  # basic authentication; who is called is decided by the host alone
        max_url_length=_LONGEST_URL,
    )
    try:
        asked.check_url(url)
    except SSRFGuardError as refusal:
        return cut(str(getattr(refusal, "reason", refusal)))
    return None


def _is_encoded_address(host: str) -> bool:
    """Tell whether a resolver would read a host as an address that no address parser accepts: `0x7f.1`."""
    try:
        socket.inet_aton(host)
    except (OSError, UnicodeError):
        return False
    try:
        ip_address(host)
    except ValueError:
        return True
    return False
