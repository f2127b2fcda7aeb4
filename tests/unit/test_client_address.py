"""From where a request comes: only trusted proxies are believed, and only what they themselves wrote."""

import pytest

from ostler.api.client_address import client_address
from ostler.settings_kinds import networks

TRUSTED = networks("127.0.0.1, 10.0.0.0/8")


def seen(peer: str, *told: str, trusts_nobody: bool = False) -> str:
    headers = [(b"x-forwarded-for", each.encode()) for each in told]
    scope = {"type": "http", "client": (peer, 4711), "headers": headers}
    return client_address(scope, () if trusts_nobody else TRUSTED)


@pytest.mark.parametrize(
    ("peer", "told", "expected"),
    [
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", ["198.51.100.1, 192.0.2.7"], "192.0.2.7"),  # the first was written by the client
        ("127.0.0.1", ["192.0.2.7, 10.1.2.3"], "192.0.2.7"),  # two proxies of ours
        ("127.0.0.1", ["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("127.0.0.1", ["10.1.2.3, 10.1.2.4"], "10.1.2.3"),
        ("127.0.0.1", ["192.0.2.7, <script>"], "127.0.0.1"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("192.0.2.9", ["192.0.2.7"], "192.0.2.9"),  # nobody that we trust
    ],
)
def test_what_trusted_proxies_say_is_believed(peer: str, told: list[str], expected: str) -> None:
    assert seen(peer, *told) == expected


def test_by_default_nobody_is_believed() -> None:
    assert seen("127.0.0.1", "192.0.2.7", trusts_nobody=True) == "127.0.0.1"


def test_a_local_socket_has_no_address() -> None:
    assert client_address({"type": "http", "client": None, "headers": []}, TRUSTED) == "unknown"
